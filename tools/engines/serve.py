"""Rows of a server's table: child processes that load an engine and generate, judged by double precision. For check_vllm.py and check_sglang.py."""
import json
import os
import subprocess
import sys
import time

import torch
from transformers import DeepseekV3ForCausalLM

import tiny

ROOT = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 900


def prompts(lengths, repeated):
    """Token lists of so many tokens, the same for each run; repeated: each is six tokens again and again."""
    random = torch.Generator().manual_seed(3)
    made = [torch.randint(1, 250, (n,), generator=random).tolist() for n in lengths]
    return [(p[:6] * (len(p) // 6 + 1))[:len(p)] for p in made] if repeated else made


def count_elsewhere():
    """Makes processes that this one starts count their calls (count_calls.py); returns a function that says how many there were."""
    os.environ["MLAF_CALLS"] = path = os.environ["MLAF_ENGINES"] + "/calls"
    open(path, "w").close()
    return lambda: os.path.getsize(path)


def child(script, environment, settings):
    """The script's result, which it prints behind "RESULT ", or the last line that says what went wrong."""
    done = subprocess.run([sys.executable, os.path.join(ROOT, script), json.dumps(settings)], env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
    sys.stderr.write(done.stdout)
    found = [line[7:] for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if found:
        return json.loads(found[-1])
    said = [line.strip() for line in done.stdout.splitlines() if "mlaforge" in line or "Error" in line]
    return said[-1] if said else f"no result, exit code {done.returncode}"


class Table:
    def __init__(self, engine):
        self.engine, self.good, self.stock = engine, True, {}
        torch.set_grad_enabled(False)
        exact = DeepseekV3ForCausalLM.from_pretrained(os.environ["MLAF_ENGINES"] + "/served", dtype=torch.bfloat16).double().eval()
        self.judge = tiny.Judge(exact)

    def row(self, name, good, text):
        self.good = self.good and good
        print(f"{self.engine:12}  {name:40} {'ok  ' if good else 'FAIL'} {text}", flush=True)

    def run(self, name, script, environment, settings, like=None, count=None):
        """One row. like: the row of stock whose error bounds this one's; None: this is stock. count: the names of counters that must not be 0."""
        start = time.time()
        made = child(script, environment, settings)
        if isinstance(made, str):
            self.row(name, False, made[:140])
            return
        errors, regrets = [], []
        for prompt, tokens, logs in made["out"]:
            errors += self.judge.errors(prompt, tokens, logs)
            regrets += self.judge.regret(prompt, tokens)
        error, worst, seconds = tiny.rms(errors), max(regrets), time.time() - start
        text = f"error of log p {error:.4f}, worst regret {worst:.3f}, {len(errors)} tokens, {seconds:.0f} s"
        if like is None:
            self.stock[name] = error
            self.row(name, True, text)
            return
        calls = made["calls"]
        missing = [counter for counter in count if not calls.get(counter)]
        bound = tiny.LOG_ERROR * self.stock.get(like, 0.0)
        self.row(name, not missing and error <= bound and worst <= tiny.REGRET,
                 f"{text}; stock {self.stock.get(like, 0.0):.4f}; " + (f"NO {', '.join(missing)}" if missing else ", ".join(f"{n} {k}" for k, n in calls.items() if n)))

    def refused(self, name, script, environment, settings, text):
        """One row: the run ends with a line that holds the text."""
        made = child(script, environment, settings)
        said = made if isinstance(made, str) else "it ran"
        self.row(name, text in said, said[-150:])
