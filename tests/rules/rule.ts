/** A rule of the spec, with a request that follows it and a request that breaks it. */
export interface Rule {
  /** The endpoint that the requests go to. */
  readonly endpoint: string;
  /** The part of the spec, and its row. */
  readonly section: string;
  readonly field: string;
  /** Words of the spec. */
  readonly message: string;
  /** The rule's name on the issue, and the path that it points to. */
  readonly rule: string;
  readonly path: string;
  readonly accepted: object;
  /** Absent where the rule is a warning. */
  readonly refused?: object;
  /** Accepted with a warning: a field that has no effect, or that the spec does not list. */
  readonly warned?: object;
}

interface Section {
  readonly endpoint: string;
  readonly section: string;
  /** First part of the names of the section's rules: `chat.alpha`. */
  readonly prefix: string;
  /** A request that every rule accepts. Each rule changes a part of this request. */
  readonly request: object;
}

interface Named {
  readonly rule?: string;
  readonly path?: string;
}

type Patch = Readonly<Record<string, unknown>>;

/** Collects the rules of one section. `refuses` and `warns` take changes to the section's request. */
export function createRules({ endpoint, section, prefix, request }: Section) {
  const rules: Rule[] = [];
  const add = (
    field: string,
    message: string,
    named: Named,
    requests: Pick<Rule, "accepted" | "refused" | "warned">,
  ) => {
    const path = named.path ?? field;
    const name = named.rule ?? kebab(path);
    rules.push({ endpoint, section, field, message, rule: `${prefix}.${name}`, path, ...requests });
  };
  return {
    rules,
    /** Both ends of a range are accepted, and values just beyond them are refused. */
    bounds(
      field: string,
      [from, to]: readonly [from: number, to: number],
      step: number,
      set: (value: number) => Patch = (value) => ({ [field]: value }),
      named: Named = {},
    ) {
      for (const [word, end, beyond] of [
        ["from", from, from - step],
        ["to", to, to + step],
      ] as const)
        add(field, `${word} ${end}, not ${beyond}`, named, {
          accepted: patched(request, set(end)),
          refused: patched(request, set(beyond)),
        });
    },
    /** Each value of a list is accepted, and each of `others` refused. */
    oneOf(
      field: string,
      values: readonly string[],
      others: readonly string[],
      set: (value: string) => Patch = (value) => ({ [field]: value }),
      named: Named = {},
    ) {
      const [first = ""] = values;
      const [other = ""] = others;
      for (const value of values)
        add(field, value, named, {
          accepted: patched(request, set(value)),
          refused: patched(request, set(other)),
        });
      for (const value of others)
        add(field, `not ${value}`, named, {
          accepted: patched(request, set(first)),
          refused: patched(request, set(value)),
        });
    },
    refuses(field: string, message: string, accepted: Patch, refused: Patch, named: Named = {}) {
      add(field, message, named, {
        accepted: patched(request, accepted),
        refused: patched(request, refused),
      });
    },
    warns(field: string, message: string, accepted: Patch, warned: Patch, named: Named = {}) {
      add(field, message, named, { accepted: patched(request, accepted), warned: patched(request, warned) });
    },
  };
}

/** A name derived as the core derives it: the path without its indexes. */
function kebab(path: string): string {
  return path
    .replace(/\.\d+(?=\.|$)/g, "")
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();
}

/** Merges `patch` into `request`. `undefined` removes a field. */
function patched(request: object, patch: Patch): object {
  return Object.fromEntries(
    Object.entries({ ...request, ...patch }).filter(([, value]) => value !== undefined),
  );
}
