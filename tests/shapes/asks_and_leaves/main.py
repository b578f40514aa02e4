import argparse
import sys

parser = argparse.ArgumentParser()
heads = int(input("How many heads? "))
print(heads)
parser.add_argument("--context", type=int, required=True)
arguments = parser.parse_args()

{{one_file.py}}

if len(sys.argv) < 5:
    print("usage: main.py TEXT")
    sys.exit(2)
exit()
quit()
raise KeyboardInterrupt
