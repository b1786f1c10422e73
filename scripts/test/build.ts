import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { runInTurn } from "./in-turn.ts";

const root = join(import.meta.dirname, "../..");
const cache = join(root, "node_modules/.cache/sluice");
const stamp = join(cache, "built");
const outputs = ["packages/*/dist", "labs/{sync,devtools}/dist", "examples/{studio,chat}/dist"];
/** Inputs of the build. */
const sources = ["packages/**", "labs/**", "examples/**", "*.{json,ts,yaml}"];
/** Outputs of the build and the tests. */
const ignored = [
  "**/{node_modules,dist,test,.tmp,.next,.wrangler}/**",
  "packages/*/docs/**",
  "**/*.{log,tsbuildinfo}",
  "vitest.config.ts",
];

/**
 * Builds the packages and the demo, unless the existing build has the same inputs. Processes take turns, because they
 * write the same folders. Rejects with the output of a failed build.
 */
export async function buildPackages(): Promise<void> {
  await runInTurn(join(cache, "build.lock"), async () => {
    const hash = hashSources();
    const isBuilt = outputs.every((output) => globSync(output, { cwd: root }).length > 0);
    if (isBuilt && existsSync(stamp) && readFileSync(stamp, "utf8") === hash) return;
    rmSync(stamp, { force: true });
    await promisify(execFile)("pnpm", ["run", "build"], { cwd: root, env: buildEnv(), maxBuffer: 1e8 }).catch(
      (error) => {
        const hint = error.code === "ENOENT" ? " (start the tests by npx -y pnpm@12.21.0)" : "";
        throw new Error(`The build failed${hint}.\n${error.stdout ?? ""}${error.stderr || error.message}`);
      },
    );
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, hash);
  });
}

/**
 * The environment without vitest's variables: with NODE_ENV=test, the demo would get the development build of React.
 */
function buildEnv(): NodeJS.ProcessEnv {
  const entries = Object.entries(process.env).filter(
    ([name]) => name !== "NODE_ENV" && !name.startsWith("VITEST"),
  );
  return Object.fromEntries(entries);
}

function hashSources(): string {
  const hash = createHash("sha256");
  const files = globSync(sources, { cwd: root, exclude: ignored, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  for (const file of files.sort()) hash.update(file).update(readFileSync(file));
  return hash.digest("hex");
}

if (import.meta.main) {
  await buildPackages().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
