"""The notebooks run from their first cell to their last, each in less than a minute, and are stored without results."""

import importlib.util
import json
import pathlib
import tempfile
import time
import unittest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
MISSING = [name for name in ("nbclient", "ipykernel", "matplotlib", "pandas", "pyarrow") if not importlib.util.find_spec(name)]


class Notebooks(unittest.TestCase):
    def test_they_are_stored_without_results(self):
        self.assertEqual([file.stem for file in NOTEBOOKS], ["first-result", "own-controller", "paper-figure"])
        for file in NOTEBOOKS:
            for cell in json.loads(file.read_text())["cells"]:
                self.assertFalse(cell.get("outputs"), file)
                self.assertIsNone(cell.get("execution_count"), file)

    @unittest.skipIf(MISSING, f"{', '.join(MISSING)} cannot be imported")
    def test_each_runs_to_its_end_and_has_a_figure(self):
        import nbclient
        import nbformat

        for file in NOTEBOOKS:
            with self.subTest(file.stem), tempfile.TemporaryDirectory() as directory:
                notebook = nbformat.read(file, as_version=4)
                began = time.monotonic()
                where = {"metadata": {"path": directory}}
                nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=where).execute()
                print(f"{file.stem}: {time.monotonic() - began:.0f} s")
                outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
                self.assertTrue(any("image/png" in output.get("data", {}) for output in outputs))


if __name__ == "__main__":
    unittest.main()
