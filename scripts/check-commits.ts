import { execFileSync } from "node:child_process";

/*
 * Prints the commits whose subject breaks Conventional Commits (conventionalcommits.org): `type(scope): text`, at most 72
 * characters, and a blank line before the body. Fails if there is one.
 *
 *   pnpm check commits                      the commits that main does not have
 *   pnpm check commits origin/main..HEAD    another range
 */

const TYPES = "build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test";
const SUBJECT = new RegExp(
  `^(?:${TYPES})(?:\\([a-z0-9./-]+(?:, ?[a-z0-9./-]+)*\\))?!?: [^\\s.][^\\n]*[^\\s.]$`,
);

const [range = "main..HEAD"] = process.argv.slice(2);
const log = execFileSync("git", ["log", "--no-merges", "--format=%h%n%B%x00", range], { encoding: "utf8" });
const commits = log.split("\0").flatMap((entry) => (entry.trim() ? [entry.trim().split("\n")] : []));
const violations = commits.flatMap(([hash, subject = "", blank = ""]) => {
  if (!SUBJECT.test(subject))
    return [`${hash} "${subject}": write "type(scope): text", with one of ${TYPES}`];
  if (subject.length > 72) return [`${hash} "${subject}": ${subject.length} characters, at most 72`];
  return blank === "" ? [] : [`${hash} "${subject}": leave a blank line before the body`];
});
for (const violation of violations) console.log(violation);
console.log(`commits: ${commits.length - violations.length} hold, ${violations.length} do not`);
process.exit(violations.length > 0 ? 1 : 0);
