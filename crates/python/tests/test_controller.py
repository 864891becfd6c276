"""Controllers written in Python."""

import ast
import importlib
import importlib.util
import pathlib
import signal
import subprocess
import sys
import time
import traceback
import unittest
import warnings

import airtcp

# Losses, timeouts and spurious retransmissions, with and without a scheme that hides some of them.
DEMO = {"duration": "8s", "warmup": "1s", "runs": 2, "vary.links.air.loss": ["0%", "2%", "10%"]}
SHORT = {"duration": "3s", "warmup": "1s", "runs": 1, "links.air.loss": "2%"}


@airtcp.controller("python-reno")
class PythonReno(airtcp.Controller):
    """Reno with the connection's own functions."""

    def ssthresh(self, sk):
        return max(sk.snd_cwnd >> 1, 2)

    def cong_avoid(self, sk, acked):
        sk.tcp_reno_cong_avoid(acked)


@airtcp.controller("written-out-reno")
class WrittenOutReno(airtcp.Controller):
    """Reno with every line in Python."""

    def ssthresh(self, sk):
        return max(sk.snd_cwnd // 2, 2)

    def is_limited_by_window(self, sk):
        return sk.is_cwnd_limited or (sk.snd_cwnd < sk.snd_ssthresh and sk.snd_cwnd < 2 * sk.max_packets_out)

    def cong_avoid(self, sk, acked):
        if not self.is_limited_by_window(sk):
            return
        if sk.snd_cwnd < sk.snd_ssthresh:
            window = min(sk.snd_cwnd + acked, sk.snd_ssthresh)
            acked -= window - sk.snd_cwnd
            sk.snd_cwnd = min(window, sk.snd_cwnd_clamp)
            if acked == 0:
                return
        window, count = sk.snd_cwnd, sk.snd_cwnd_cnt
        if count >= sk.snd_cwnd:
            count, window = 0, window + 1
        count += acked
        more = count // sk.snd_cwnd
        sk.snd_cwnd_cnt = count - more * sk.snd_cwnd
        sk.snd_cwnd = min(window + more, sk.snd_cwnd_clamp)


@airtcp.controller("every-hook")
class EveryHook(PythonReno):
    """Reno that also notes what it is told."""

    seen = set()

    def __init__(self):
        self.told = {"acked": 0, "losses": 0}

    def init(self, sk):
        self.seen.add("init")

    def release(self, sk):
        self.seen.add("release")

    def undo_cwnd(self, sk):
        self.seen.add("undo_cwnd")
        return super().undo_cwnd(sk)

    def pkts_acked(self, sk, sample):
        self.seen.add("pkts_acked")
        self.told["acked"] += sample.pkts_acked
        assert sample.rtt_us < 0 or sample.rtt_us > 60_000, sample

    def set_state(self, sk, new):
        self.seen.add(f"set_state {new!r}")
        assert new != sk.icsk_ca_state

    def cwnd_event(self, sk, event):
        self.seen.add(f"cwnd_event {event!r}")

    def in_ack_event(self, sk, event):
        self.seen.add("in_ack_event")
        assert event.slow_path in (True, False)

    def segment_lost(self, sk, lost):
        self.seen.add("segment_lost")
        self.told["losses"] += 1
        assert lost.start < lost.end

    def get_info(self):
        return self.told


def trace_hashes(controller, **overrides):
    """What tells one run from another: each cell's events, in one number for each run."""
    results = airtcp.run("demo", **{**DEMO, "flows.bulk.controller": controller, **overrides})
    assert len(results.runs) > 0 and not results.failures
    return [cell["trace_hash"] for cell in results.summary["cells"]]


class SameAsBuiltIn(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.reno = trace_hashes("reno")

    def test_reno_in_python_moves_every_packet_as_reno_does(self):
        self.assertGreater(len({tuple(cell) for cell in self.reno}), 5)
        self.assertEqual(trace_hashes("python-reno"), self.reno)
        self.assertEqual(trace_hashes("written-out-reno"), self.reno)
        self.assertNotEqual(trace_hashes("cubic"), self.reno)

    def test_hooks_that_only_look_on_change_nothing_and_each_is_called(self):
        EveryHook.seen.clear()
        self.assertEqual(trace_hashes("every-hook"), self.reno)
        expected = {"init", "pkts_acked", "in_ack_event", "segment_lost"}
        expected |= {f"set_state {state}" for state in ("CaState.Open", "CaState.Recovery", "CaState.Loss")}
        expected |= {"cwnd_event CaEvent.TxStart", "cwnd_event CaEvent.CompleteCwr"}
        self.assertEqual(expected - EveryHook.seen, set())

    def test_threads_take_turns_and_change_nothing(self):
        for threads in (1, 4):
            self.assertEqual(trace_hashes("python-reno", threads=threads), self.reno)


class Told(unittest.TestCase):
    def test_counters_are_columns_of_results(self):
        results = airtcp.run("demo", **SHORT, **{"flows.bulk.controller": "every-hook"})
        counters = results.counters.to_pydict()
        rows = zip(counters["of"], counters["name"], counters["count"])
        acked = [count for of, name, count in rows if (of, name) == ("controller", "acked")]
        self.assertEqual(len(acked), 2)
        self.assertGreater(min(acked), 100)

    def test_cong_control_sets_window_and_pacing_from_rate_samples(self):
        @airtcp.controller("megabit")
        class Megabit(airtcp.Controller):
            """Paces at a megabit, whatever happens."""

            rate = airtcp.Parameter(1_000_000, "Bits in a second.", minimum=1)

            def ssthresh(self, sk):
                return sk.snd_ssthresh

            def min_tso_segs(self, sk):
                return 1

            def cong_control(self, sk, sample):
                assert sample.delivered < 0 or sample.interval_us >= 0
                sk.sk_pacing_status = True
                sk.sk_pacing_rate = self.rate // 8
                sk.snd_cwnd = 40

        for rate in (1_000_000, 2_000_000):
            options = {"flows.bulk.controller": "megabit", "flows.bulk.controller_options.rate": rate}
            runs = airtcp.run("demo", **SHORT, **options).runs.to_pydict()
            for goodput, segment, measured in zip(runs["goodput_bps"], runs["segment_bytes"], runs["measured_ns"]):
                # Payload is paced, and one segment more may fall into the time that is measured.
                self.assertLess(goodput, rate + 8e9 * segment / measured)
                self.assertGreater(goodput, 0.8 * rate)

    def test_parameters_are_shown_and_set_and_checked(self):
        @airtcp.controller("gentle")
        class Gentle(PythonReno):
            """Keeps more."""

            source = "a lecture"
            keep = airtcp.Parameter(0.5, "Share of the window kept after a loss.", source="RFC 5681", minimum=0.1, maximum=1)
            is_bold = airtcp.Parameter(False, "Grow by two.")
            name = airtcp.Parameter("x", "A text.")

            def __init__(self):
                assert self.keep > 0

            def ssthresh(self, sk):
                return max(int(sk.snd_cwnd * self.keep), 2)

        entry = airtcp.describe()["controllers"]["gentle"]
        self.assertEqual((entry["about"], entry["source"]), ("Keeps more.", "a lecture"))
        self.assertEqual(
            entry["parameters"]["keep"],
            {
                "default": "0.5",
                "kind": "number, 0.1 to 1",
                "about": "Share of the window kept after a loss.",
                "source": "RFC 5681",
            },
        )
        self.assertEqual(entry["parameters"]["is_bold"]["default"], "false")

        def hashes(**options):
            return trace_hashes("gentle", **{f"flows.bulk.controller_options.{key}": value for key, value in options.items()})

        self.assertEqual(hashes(keep=0.5, is_bold=True), trace_hashes("reno"))
        self.assertNotEqual(hashes(keep=0.9), hashes(keep=0.5))
        self.assertIn("keep = 0.9", airtcp.scenario("demo", **{"flows.bulk.controller": "gentle", "flows.bulk.controller_options.keep": 0.9}))
        for key, value, sentence in [
            ("keep", 2, "keep.*'2' is not one: write a number, 0.1 to 1"),
            ("keep", "much", "'much' is not one: write a number"),
            ("keep", [1], "keep"),
            ("is_bold", "yes", "write a boolean, true or false"),
            ("kept", 1, "did you mean 'keep'"),
        ]:
            with self.assertRaisesRegex(ValueError, sentence):
                hashes(**{key: value})
        with self.assertRaisesRegex(ValueError, "did you mean 'gentle'"):
            airtcp.run("demo", **{"flows.bulk.controller": "gentel"})

    def test_random_numbers_are_those_of_the_run(self):
        drawn = []

        @airtcp.controller("dice")
        class Dice(PythonReno):
            """Keeps a random share."""

            def ssthresh(self, sk):
                drawn.append(sk.get_random_u32_below(100))
                return max(sk.snd_cwnd * (50 + drawn[-1] // 2) // 100, 2)

        first = trace_hashes("dice", **{"vary.links.air.loss": ["2%"]})
        once, drawn[:] = list(drawn), []
        self.assertEqual(trace_hashes("dice", **{"vary.links.air.loss": ["2%"], "threads": 1}), first)
        self.assertEqual(sorted(drawn), sorted(once))
        self.assertGreater(len(set(drawn)), 10)
        self.assertLess(max(drawn), 100)

    def test_a_class_of_the_same_name_takes_its_place(self):
        def runs(keep):
            @airtcp.controller("anew")
            class Anew(PythonReno):
                """From another cell of a notebook."""

                def ssthresh(self, sk):
                    return max(int(sk.snd_cwnd * keep), 2)

            return trace_hashes("anew")

        self.assertEqual(runs(0.5), trace_hashes("reno"))
        self.assertNotEqual(runs(0.9), trace_hashes("reno"))


class Wrong(unittest.TestCase):
    # What a class needs.
    RENO = {"__doc__": "Wrong.", "ssthresh": PythonReno.ssthresh, "cong_avoid": PythonReno.cong_avoid}

    def fails(self, sentence, cause, **hooks):
        airtcp.controller("wrong")(type("Wrong", (airtcp.Controller,), {**self.RENO, **hooks}))
        # What is counted is asked for when a run ends.
        duration = "3s" if "get_info" in hooks else "100000s"
        began = time.monotonic()
        with self.assertRaisesRegex(airtcp.ControllerError, sentence) as caught:
            airtcp.run("demo", duration=duration, warmup="1s", runs=100, threads=2, **{"flows.bulk.controller": "wrong"})
        self.assertLess(time.monotonic() - began, 60)
        self.assertIsInstance(caught.exception.__cause__, cause)
        return caught.exception

    def test_what_a_hook_raises_ends_the_sweep_with_its_traceback(self):
        def cong_avoid(self, sk, acked):
            if sk.tcp_mstamp > 1_000_000:
                divide(sk.snd_cwnd)

        def divide(number):
            return number / 0

        error = self.fails(r"'wrong' failed in cong_avoid\(\) at 1\.\d+ s, in a run of 'demo' with seed \d+: ZeroDivisionError", ZeroDivisionError, cong_avoid=cong_avoid)
        told = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.assertIn("return number / 0", told)
        self.assertIn("in cong_avoid", told)
        # And nothing is left of it.
        self.assertEqual(len(airtcp.run("demo", **SHORT, **{"flows.bulk.controller": "python-reno"}).runs), 2)

    def test_ctrl_c_ends_a_hook_that_never_returns(self):
        code = (
            "import airtcp\n"
            "@airtcp.controller('endless')\n"
            "class Endless(airtcp.Controller):\n"
            "    'Never returns.'\n"
            "    def ssthresh(self, sk): return 2\n"
            "    def cong_avoid(self, sk, acked):\n"
            "        print('here', flush=True)\n"
            "        while True: pass\n"
            "airtcp.run('demo', **{'flows.bulk.controller': 'endless'})\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        # However this ends, it must not go on for ever.
        self.addCleanup(process.kill)
        # Two runs are in it, whose words may meet on a line.
        self.assertIn("here", process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"), errors)

    def test_wrong_types_say_what_to_write(self):
        def assigns(field, value):
            return lambda self, sk, acked: setattr(sk, field, value)

        for sentence, cause, hooks in [
            (r"what ssthresh\(\) returns is a whole number, and 5.5 is of type float; write int", TypeError, {"ssthresh": lambda self, sk: 5.5}),
            (r"what ssthresh\(\) returns is a whole number, and None", TypeError, {"ssthresh": lambda self, sk: None}),
            (r"what ssthresh\(\) returns cannot be 0; write 1 to", ValueError, {"ssthresh": lambda self, sk: 0}),
            (r"sk.snd_cwnd is a whole number, and 1.5 is of type float", TypeError, {"cong_avoid": assigns("snd_cwnd", 1.5)}),
            (r"sk.snd_cwnd cannot be -1; write 1 to", ValueError, {"cong_avoid": assigns("snd_cwnd", -1)}),
            (r"sk.snd_cwnd cannot be 0; write 1 to", ValueError, {"cong_avoid": assigns("snd_cwnd", 0)}),
            ("srtt_us", AttributeError, {"cong_avoid": assigns("srtt_us", 1)}),
            ("snd_cwdn", AttributeError, {"cong_avoid": assigns("snd_cwdn", 1)}),
            (r"failed in get_info\(\).*same counters each time: one", ValueError, {"get_info": self.forgetful()}),
            ("cannot be made.*RuntimeError: not today", RuntimeError, {"__init__": self.moody()}),
        ]:
            with self.subTest(sentence):
                self.fails(sentence, cause, **hooks)

    @staticmethod
    def forgetful():
        """Counts something when it is registered, and nothing later."""
        counts = [{"one": 1}]
        return lambda self: counts.pop() if counts else {}

    @staticmethod
    def moody():
        """Can be made when it is registered, and not in a run."""
        made = []

        def init(self):
            if made:
                raise RuntimeError("not today")
            made.append(self)

        return init

    def test_classes_that_are_no_controllers_are_refused(self):
        def without(*names, **more):
            hooks = {name: value for name, value in {**self.RENO, **more}.items() if name not in names}
            return type("Odd", (airtcp.Controller,), hooks)

        for slug, kind, error, sentence in [
            ("cubic", without(), ValueError, "there is a controller 'cubic' already"),
            ("illinois", without(), ValueError, "there is a controller 'illinois' already"),
            ("My Reno", without(), ValueError, "small letters"),
            ("odd", object, TypeError, "airtcp.Controller"),
            ("odd", without("__doc__"), TypeError, "docstring"),
            ("odd", without("ssthresh"), TypeError, r"write def ssthresh\(self, sk\)"),
            ("odd", without("cong_avoid"), TypeError, r"write def cong_avoid\(self, sk, acked\)"),
            ("odd", without(pkts_acked=lambda self, sk: None), TypeError, r"write def pkts_acked\(self, sk, sample\)"),
            ("odd", without(keep=airtcp.Parameter(2, "x", maximum=1)), ValueError, "'2' is not one"),
            ("odd", without(get_info=lambda self: {"Bad name": 1}), ValueError, "small letters"),
            ("odd", without(__init__=lambda self: 1 / 0), ZeroDivisionError, ""),
        ]:
            with self.subTest(sentence), self.assertRaisesRegex(error, sentence):
                airtcp.controller(slug)(kind)
        with self.assertRaisesRegex(TypeError, "default"):
            airtcp.Parameter([1], "x")
        with self.assertWarnsRegex(UserWarning, "Odd.pkt_acked is no hook; did you mean pkts_acked"):
            airtcp.controller("odd")(without(pkt_acked=lambda self, sk, sample: None))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            airtcp.controller("odd")(without(helper=lambda self: None))


class Stubs(unittest.TestCase):
    def test_they_have_the_members_that_classes_have(self):
        native = importlib.import_module("airtcp._native")
        stub = ast.parse((pathlib.Path(airtcp.__file__).parent / "_native.pyi").read_text())
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        for name, kind in vars(native).items():
            if isinstance(kind, type):
                named = {
                    node.target.id if isinstance(node, ast.AnnAssign) else node.name
                    for node in classes[name].body
                    if isinstance(node, (ast.AnnAssign, ast.FunctionDef))
                }
                self.assertEqual(
                    {member for member in named if not member.startswith("__")},
                    {member for member in vars(kind) if not member.startswith("__")},
                    name,
                )

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy")
    def test_mypy_finds_the_package_and_a_controller_right(self):
        # By its name: a path in site-packages would have mypy take its own modules beside it for ours.
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "-p", "airtcp"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        code = (
            "import airtcp\n"
            "class Mine(airtcp.Controller):\n"
            "    keep = airtcp.Parameter(0.5, 'Share.')\n"
            "    def ssthresh(self, sk: airtcp.Sock) -> int:\n"
            "        {line}\n"
            "    def cong_avoid(self, sk: airtcp.Sock, acked: int) -> None: ...\n"
        )
        for line, is_right in [("return int(sk.snd_cwnd * self.keep)", True), ("return sk.snd_cwnd * self.keep", False)]:
            done = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "-c", code.format(line=line)], capture_output=True, text=True
            )
            self.assertEqual(done.returncode == 0, is_right, done.stdout)


if __name__ == "__main__":
    unittest.main()
