import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";

/* The account and the repository, which one script writes into all files before the first release. */

const root = join(import.meta.dirname, "../..");
const copy = temporaryFolder("repository");
const git = (...args: readonly string[]) => execFileSync("git", args, { cwd: copy, encoding: "utf8" });

/** Copies the files as they are here, and not as they were committed. */
function copyRepository(): void {
  const files = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const archive = execFileSync("tar", ["-cf", "-", "--ignore-failed-read", "-T", "-"], {
    cwd: root,
    input: files,
    maxBuffer: 1e9,
    stdio: ["pipe", "pipe", "ignore"],
  });
  execFileSync("tar", ["-xf", "-", "-C", copy], { input: archive });
  git("init", "--quiet");
  git("add", "--all");
}

/** The step of `check release` that looks for addresses. */
function checkAddress() {
  const { status, stdout } = spawnSync(process.execPath, ["scripts/release-check.ts", "--only", "address"], {
    cwd: copy,
    encoding: "utf8",
  });
  return { status, stdout };
}

test("A release is refused until the script has written the address, and then no placeholder is left", {
  timeout: 180_000,
}, () => {
  copyRepository();
  expect(checkAddress()).toMatchObject({
    status: 1,
    stdout: expect.stringContaining("node scripts/repository.ts <account>/<repository>"),
  });
  execFileSync(process.execPath, ["scripts/repository.ts", "acme/sluice"], { cwd: copy });
  expect(checkAddress()).toMatchObject({ status: 0 });
  const left = spawnSync("git", ["grep", "-l", "YOUR-\\(ACCOUNT\\|REPOSITORY\\)"], {
    cwd: copy,
    encoding: "utf8",
  });
  // the check itself names the placeholder
  expect(left.stdout.trim()).toBe("scripts/release-check.ts");
  expect(git("grep", "-h", '"url":', "--", "packages/core/package.json")).toContain(
    "github.com/acme/sluice.git",
  );
});
