"""Nothing that one guest does is seen by the next: each kind of trace is left, and looked for.

The first guest is still alive when the second one looks, and has ended when the third one does.
"""

from collections.abc import Iterator

import pytest
import torch

from autograder.assignment.assignment import Limits
from autograder.sandbox.host import ladder, launch
from autograder.sandbox.host.room import NameSpec, Sandbox
from autograder.sandbox.host.session import Session
from autograder.submissions.submission import SourceFile

LIMITS = Limits(load_seconds=1.0, call_seconds=1.0, memory_mb=256)
NAMES = tuple(NameSpec(name, "any", "function", ("what",)) for name in ("leave", "look"))
LACKING = {level.name: ladder.lack(level) for level in launch.LEVELS if level.inner}


@pytest.fixture(scope="module", params=sorted(LACKING))
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if LACKING[request.param]:
        pytest.skip(str(LACKING[request.param]))
    with Sandbox(LIMITS, NAMES, request.param) as made:
        made.wait_ready()
        yield made


def opened(sandbox: Sandbox, leave: str, look: str) -> Session:
    """A submission that leaves something where its calls are told to, and can look for it."""
    source = "import ctypes, gc, mmap, os, random, signal, sys, threading, time\n"
    source += "import numpy, torch\nlibc = ctypes.CDLL(None, use_errno=True)\n"
    for name, body in (("leave", leave), ("look", look)):
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        source += f"def {name}(what):\n{lines}"
    return sandbox.open([SourceFile("work.py", "module", source.encode(), ())])


def ask(session: Session, name: str) -> object:
    return session.student(name).proxy(name)(None)


# Left by the first: what is left, how, and what shows it to whoever looks. `look` returns the same
# in every guest that never met the first.
TRACES = {
    "a file": (
        "for place in ('/tmp', '/dev/shm', '/var/tmp', '.', '/kit', '/run'):\n"
        "    try: open(place + '/left', 'w').write('left')\n"
        "    except OSError: pass",
        "found = []\n"
        "for place in ('/tmp', '/dev/shm', '/var/tmp', '.', '/kit', '/run'):\n"
        "    try: found.append(open(place + '/left').read())\n"
        "    except OSError: pass\n"
        "return found",
    ),
    "the current folder": ("os.chdir('/usr/lib')", "return os.getcwd()"),
    "the mode of new files": ("os.umask(0o123)", "return os.umask(0)"),
    "shared memory by key": (
        "number = libc.shmget(4711, 4096, 0o1666)",
        "return libc.shmget(4711, 4096, 0o666)",
    ),
    "shared memory by name": (
        "from multiprocessing import shared_memory\n"
        "try: shared_memory.SharedMemory('left', create=True, size=4096)\n"
        "except OSError: pass",
        "from multiprocessing import shared_memory\n"
        "try: shared_memory.SharedMemory('left')\n"
        "except OSError: return 'nothing'\n"
        "return 'left'",
    ),
    "a message queue and a semaphore": (
        "libc.msgget(4711, 0o1666), libc.semget(4711, 1, 0o1666)",
        "return [libc.msgget(4711, 0o666), libc.semget(4711, 1, 0o666)]",
    ),
    "a descriptor": (
        "global kept\n"
        "kept = [os.open('/dev/null', os.O_RDWR) for _ in range(9)]\n"
        "for descriptor in kept: os.set_inheritable(descriptor, True)",
        "found = 0\n"
        "for number in range(64):\n"
        "    try: os.fstat(number); found += 1\n"
        "    except OSError: pass\n"
        "return found",
    ),
    "the environment": (
        "os.environ['LEFT'] = 'left'\nos.environ.pop('HOME')\nlibc.setenv(b'LEFT2', b'left', 1)",
        "libc.getenv.restype = ctypes.c_char_p\n"
        "return [sorted(os.environ), repr(libc.getenv(b'LEFT2')), repr(libc.getenv(b'HOME'))]",
    ),
    "defaults of torch": (
        "torch.set_default_dtype(torch.float64)\n"
        "torch.set_default_device('meta')\n"
        "torch.set_num_threads(2)\n"
        "torch.use_deterministic_algorithms(True)\n"
        "torch.set_grad_enabled(False)\n"
        "torch.set_printoptions(precision=1)\n"
        "torch.autograd.set_detect_anomaly(True)\n"
        "torch.set_flush_denormal(True)\n"
        "torch.backends.mkldnn.enabled = False",
        "return [str(torch.ones(1).dtype), str(torch.ones(1).device), torch.get_num_threads(),\n"
        "        torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled(),\n"
        "        repr(torch.tensor(1 / 3)), torch.backends.mkldnn.enabled,\n"
        "        (torch.tensor([1e-40]) * 1).item() > 0]",
    ),
    "modes of torch": (
        "torch.inference_mode().__enter__()\n"
        "torch.autocast('cpu', dtype=torch.bfloat16).__enter__()\n"
        "torch.device('meta').__enter__()",
        "return [torch.is_inference_mode_enabled(), torch.is_autocast_enabled('cpu'),\n"
        "        str(torch.get_default_device())]",
    ),
    "generators of random numbers": (
        "torch.manual_seed(1); random.seed(1); numpy.random.seed(1)\n"
        "torch.rand(9); random.random(); numpy.random.rand(3); random.gauss(0, 1)",
        "return [torch.rand(3).tolist(), random.random(), numpy.random.rand(2).tolist(),\n"
        "        random.gauss(0, 1)]",
    ),
    "functions of torch": (
        "torch.softmax = torch.nn.functional.softmax = lambda *a, **k: torch.zeros(1)\n"
        "torch.nn.Linear.forward = lambda self, x: x\n"
        "torch.Tensor.__matmul__ = lambda self, other: other",
        "layer = torch.nn.Linear(2, 2, bias=False)\n"
        "with torch.no_grad(): layer.weight.copy_(torch.eye(2) * 3)\n"
        "return [torch.softmax(torch.zeros(2), 0).tolist(), layer(torch.ones(2)).tolist(),\n"
        "        (torch.eye(2) @ torch.eye(2)).tolist()]",
    ),
    "kernels of torch": (
        "global library\n"
        "library = torch.library.Library('aten', 'IMPL')\n"
        "library.impl('mul.Tensor', lambda a, b: a.clone(), 'CPU')\n"
        "global own\n"
        "own = torch.library.Library('left', 'DEF')\n"
        "own.define('by_first(Tensor a) -> Tensor')",
        "return [(torch.ones(2) * 3).tolist(), hasattr(torch.ops.left, 'by_first')]",
    ),
    "modules and builtins": (
        "import builtins, math, types\n"
        "builtins.sorted = builtins.sum = lambda *a: 'left'\n"
        "math.sqrt = lambda x: 4\n"
        "sys.modules['left'] = types.ModuleType('left')\n"
        "sys.path.insert(0, '/left')\n"
        "sys.setrecursionlimit(5000)\n"
        "sys.stdout = None",
        "import math\n"
        "return [sum([1, 2]), math.sqrt(4), 'left' in sys.modules, '/left' in sys.path,\n"
        "        sys.getrecursionlimit(), sys.stdout is None]",
    ),
    "objects of the zygote": (
        "for thing in gc.get_objects():\n"
        "    if type(thing) is dict and '__name__' in thing: thing['LEFT'] = 1\n"
        "    elif type(thing) is list and len(thing) < 50: thing.append('left')\n"
        "gc.freeze()",
        "gc.collect()\n"
        "return [sum(1 for thing in gc.get_objects()\n"
        "            if type(thing) is dict and 'LEFT' in thing and '__name__' in thing),\n"
        "        sum(1 for name, module in list(sys.modules.items())\n"
        "            if hasattr(module, '__dict__') and 'LEFT' in vars(module))]",
    ),
    "small whole numbers": (
        "ctypes.memmove(id(7) + 24, (ctypes.c_uint32 * 1)(8), 4)",
        "return [3 + 4, list(range(8))]",
    ),
    "memory of the zygote": (
        "big = torch._C.__doc__  # a page that was there before the fork\n"
        "page = id(sys.modules) & ~4095\n"
        "numpy.random.__dict__['_left'] = b'left' * 1000",
        "return '_left' in vars(numpy.random)",
    ),
    "handlers and hooks": (
        "import atexit\n"
        "signal.signal(signal.SIGALRM, lambda *a: os._exit(9))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "atexit.register(os._exit, 9)\n"
        "sys.settrace(lambda *a: None)\n"
        "sys.excepthook = lambda *a: os._exit(9)\n"
        "sys.addaudithook(lambda *a: None)",
        "return [str(signal.getsignal(signal.SIGALRM)), signal.getitimer(signal.ITIMER_REAL),\n"
        "        sys.gettrace() is None, sys.excepthook is sys.__excepthook__]",
    ),
    "limits": (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))",
        "import resource\nreturn list(resource.getrlimit(resource.RLIMIT_NOFILE))",
    ),
    "threads": (
        "def spin():\n"
        "    while True: time.sleep(0.001)\n"
        "for _ in range(3): threading.Thread(target=spin, daemon=True).start()",
        "return [threading.active_count(), len(sys._current_frames())]",
    ),
}


@pytest.mark.parametrize("trace", TRACES)
def test_what_one_guest_leaves_no_other_guest_finds(sandbox: Sandbox, trace: str) -> None:
    leave, look = TRACES[trace]
    untouched = opened(sandbox, leave, look)
    expected = ask(untouched, "look")
    untouched.close()
    first = opened(sandbox, leave, look)
    try:
        ask(first, "leave")
    except Exception as error:  # the wall may refuse it; then it is not left at all
        assert type(error).__module__.startswith("autograder.sandbox")
    beside = opened(sandbox, leave, look)
    assert ask(beside, "look") == expected
    beside.close()
    first.close()
    after = opened(sandbox, leave, look)
    assert ask(after, "look") == expected
    assert after.report == untouched.report
    after.close()


@pytest.mark.parametrize("trace", sorted(set(TRACES) - {"a file"}))
def test_each_trace_that_can_be_left_would_be_seen(sandbox: Sandbox, trace: str) -> None:
    """Else the test above would show nothing: the guest that left it finds it, or was refused."""
    leave, look = TRACES[trace]
    session = opened(sandbox, f"{leave}\nreturn look(what)", look)
    fresh = ask(session, "look")
    try:
        seen = session.student("leave").leave(None)
    except Exception:
        return  # refused, or its own process is broken: nothing of it can be elsewhere
    finally:
        session.close()
    refused = {
        "shared memory by key",
        "shared memory by name",
        "a message queue and a semaphore",
        "limits",
    }
    assert (seen != fresh) is (trace not in refused)


def test_a_generator_of_one_guest_does_not_move_that_of_another(sandbox: Sandbox) -> None:
    draw = "return torch.rand(4)"
    one, other = (opened(sandbox, "torch.rand(1000)", draw) for _ in range(2))
    ask(one, "leave")
    first, second = ask(one, "look"), ask(other, "look")
    assert isinstance(first, torch.Tensor)
    assert isinstance(second, torch.Tensor)
    assert torch.equal(first, second)
    one.close()
    other.close()


def test_the_page_that_tells_how_far_loading_is_belongs_to_one_guest(sandbox: Sandbox) -> None:
    """A statement that hangs is known by its number; another guest scribbles over its own."""
    scribble = (
        "frame = sys._getframe()\n"
        "while frame:\n"
        "    for cell in getattr(frame.f_locals.get('started'), '__closure__', None) or ():\n"
        "        cell.cell_contents[:8] = b'\\xff' * 8\n"
        "    frame = frame.f_back\n"
        "return True"
    )
    first = opened(sandbox, scribble, "return 0")
    assert ask(first, "leave")
    endless = b"def look(what):\n    return 5\nwhile True: pass\n"
    second = sandbox.open([SourceFile("work.py", "module", endless, ())])
    told = ("work.py line 3 was skipped: it used up the time for loading",)
    assert (second.report.notes, ask(second, "look")) == (told, 5)
    second.close()
    first.close()
