"""The proof that solutions, stubs, checks, variants and misconceptions agree.

Every submission of the proof is a source as a student would write it, importing nothing of the kit.
Right ones must get every point. A mistake must cost its own criterion, be named first, and cost
nothing anywhere else; two mistakes must cost two criteria. Mutants of the solutions must lose
points; null programs and stubs must get none.
"""
