"""The proof that solutions, stubs, checks, variants and misconceptions agree.

Every submission of the proof is a source as a student writes it, importing nothing of the kit.
Right ones must get every point. A wrong one must cost its own criterion, be named first, and cost
nothing anywhere else; two mistakes must cost two. Mutants of the solutions must lose points, null
programs and stubs have none to lose.
"""
