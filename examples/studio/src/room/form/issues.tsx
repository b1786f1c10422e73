import type { Issue } from "@sluice/core";

/** Broken rules, in the words of the library. */
export function Issues({ issues }: { issues: readonly Issue[] }) {
  return issues.map(({ path, rule, message }) => (
    <p key={`${path} ${rule}`} className="issue">
      {message}
    </p>
  ));
}

/** The issues of a field, and of all that is in it. */
export function issuesAt(issues: readonly Issue[], field: string): readonly Issue[] {
  return issues.filter(({ path }) => path === field || path.startsWith(`${field}.`));
}
