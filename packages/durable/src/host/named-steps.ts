import {
  ensure,
  type Job,
  type Operation,
  type Reading,
  type Source,
  type StoredPart,
} from "@sluice/worker-proxy/plugin";

type Step = Operation<never, unknown> | Reading<never, unknown>;

/** The operations, jobs and sources of all plugins, by name. */
export interface NamedSteps {
  readonly steps: ReadonlyMap<string, Step>;
  readonly jobs: ReadonlyMap<string, Job<never>>;
  readonly sources: ReadonlyMap<string, Source<never>>;
}

/**
 * Indexes the parts of all plugins by name, because Durable Objects and stored timers refer to them by name.
 *
 * @throws {TypeError} for a duplicate name
 */
export function indexParts(parts: readonly StoredPart[]): NamedSteps {
  return {
    steps: byName(parts.flatMap(({ operations }) => operations)),
    jobs: byName(parts.flatMap(({ jobs = [] }) => jobs)),
    sources: byName(parts.flatMap(({ sources = [] }) => sources)),
  };
}

function byName<Named extends { readonly name: string }>(all: readonly Named[]): ReadonlyMap<string, Named> {
  const named = new Map(all.map((one) => [one.name, one]));
  const twice = all.find((one) => named.get(one.name) !== one);
  ensure(!twice, `plugins: two of them have "${twice?.name}"; list each plugin once`);
  return named;
}

/** Returns the operation, job or source of a name. @throws {Error} for an unknown name */
export function findNamed<Named>(all: ReadonlyMap<string, Named>, name: string): Named {
  const found = all.get(name);
  if (!found) throw new Error(`no plugin has "${name}"; is another version of the Worker deployed?`);
  return found;
}
