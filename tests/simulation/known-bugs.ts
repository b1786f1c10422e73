import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A bug that this project once had, as a patch of `bugs/` that puts it back. */
export interface KnownBug {
  /** One sentence, in the first line of the patch. */
  readonly name: string;
  /** The kind of simulation that finds it. */
  readonly search: "simulations" | "uploads";
  /** Path of the patch. */
  readonly patch: string;
}

const folder = join(import.meta.dirname, "bugs");
const root = join(import.meta.dirname, "../..");

/** Reads the known bugs with `part` in their sentence. */
export function readKnownBugs(part = ""): KnownBug[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".patch"))
    .map((file): KnownBug => {
      const patch = join(folder, file);
      const [, name = "", search] = /^Bug: (.*)\nSearch: (.*)\n/.exec(readFileSync(patch, "utf8")) ?? [];
      if (search !== "simulations" && search !== "uploads")
        throw new Error(`${file} must begin with "Bug: …" and "Search: simulations" or "uploads"`);
      return { name, search, patch };
    })
    .filter(({ name }) => name.includes(part));
}

/** A second work tree of this repository, with the changes that are not committed yet. */
export interface ScratchTree {
  /** Applies a patch to the sources. Returns the text of each changed file, or undefined if it no longer applies. */
  readonly apply: (patch: string) => ReadonlyMap<string, string> | undefined;
  readonly remove: () => void;
}

/** Creates a scratch tree in the folder of temporary files. */
export function createScratchTree(): ScratchTree {
  const tree = mkdtempSync(join(tmpdir(), "sluice-put-back-"));
  const now = runGit(root, "stash", "create").trim() || "HEAD";
  runGit(root, "worktree", "add", "--quiet", "--detach", tree, now);
  return {
    apply(patch) {
      const { status } = spawnSync("git", ["apply", "--3way", patch], { cwd: tree, stdio: "ignore" });
      const files = runGit(tree, "diff", "--name-only", "HEAD").split("\n").filter(Boolean);
      const texts = new Map(files.map((file) => [file, readFileSync(join(tree, file), "utf8")] as const));
      runGit(tree, "reset", "--quiet", "--hard");
      return status === 0 && texts.size > 0 ? texts : undefined;
    },
    remove() {
      runGit(root, "worktree", "remove", "--force", tree);
      rmSync(tree, { recursive: true, force: true });
    },
  };
}

function runGit(cwd: string, ...args: readonly string[]): string {
  return execFileSync("git", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
