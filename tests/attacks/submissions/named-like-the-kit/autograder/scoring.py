def score(*args):
    return 100
