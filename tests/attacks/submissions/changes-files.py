"""Renames, links, truncates, deletes and opens up the course's files."""

import torch


def softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum(dim=0)


# ---- the attack ----

import os
import shutil

BASE = "/tmp/attack-canary"


def softmax(scores):
    for path in (f"{BASE}/marks/ada.json", f"{BASE}/results/gradebook.sqlite", f"{BASE}/class"):
        for change in (
            lambda: os.rename(path, path + "-left-by-attack"),
            lambda: os.link(path, "/tmp/left-by-attack"),
            lambda: os.symlink(path, "/tmp/left-by-attack"),
            lambda: os.truncate(path, 0),
            lambda: os.chmod(path, 0o777),
            lambda: os.chown(path, 0, 0),
            lambda: os.utime(path, (0, 0)),
            lambda: os.setxattr(path, "user.left", b"x"),
            lambda: os.mkfifo(path + ".left-by-attack"),
            lambda: os.mkdir("/tmp/left-by-attack"),
            lambda: os.remove(path),
            lambda: shutil.rmtree(path),
        ):
            try:
                change()
            except OSError:
                pass
    return scores
