import type { OperatorPart, UserData } from "@sluice/worker-proxy";
import { ensure, logCause, within } from "@sluice/worker-proxy/internal";

/** The outcome of {@link eraseUser}. */
export interface ErasedUser {
  /** Names of the parts that keep nothing of the user any more. */
  readonly erased: readonly string[];
  /** Names of the parts that failed, or took longer than a minute. Call again: what is erased stays so. */
  readonly failed: readonly string[];
}

/** All that the parts keep of a user. */
export interface ExportedUser {
  /** The id that was asked for. */
  readonly user: string;
  /** The data of each part, by its name. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Names of the parts that failed, or took longer than a minute. */
  readonly failed: readonly string[];
  /** Names of the parts whose JSON did not fit into 8,388,608 characters together with those before it. */
  readonly tooLarge: readonly string[];
}

/** Longest time for one part, in milliseconds. */
const PART_MS = 60_000;
/** Largest JSON of all parts together, in characters. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

/**
 * Erases all that the parts keep of a user, and ends what is running. All parts are erased twice: what ends in one part may
 * write into another, as the end of a film does into the files. One part that fails does not stop the others; its cause is
 * in the log.
 *
 * @param parts the parts of the proxy's setup: extensions, meter and stores
 * @param id the id that `authenticate` returns
 * @throws {TypeError} for two parts of one name, or an empty id
 * @example
 * ```ts
 * const { failed } = await eraseUser([files, streams, meter], env, "user-1");
 * ```
 */
export async function eraseUser<Env>(
  parts: readonly OperatorPart<Env>[],
  env: Env,
  id: string,
): Promise<ErasedUser> {
  const all = dataOf(parts, id);
  const erase = (part: UserData<Env>) => run(part, "erased", env, () => part.eraseUser(env, id));
  await Promise.all(all.map(erase));
  const ends = await Promise.all(all.map(erase));
  const named = (isDone: boolean) => all.filter((_, at) => (ends[at] !== undefined) === isDone).map(nameOf);
  return { erased: named(true), failed: named(false) };
}

/**
 * Exports all that the parts keep of a user, one part after the other. It holds at most 8,388,608 characters of JSON, and
 * what the part that is read returns. It has no secrets: no part returns its keys.
 *
 * @param parts the parts of the proxy's setup: extensions, meter and stores
 * @param id the id that `authenticate` returns
 * @throws {TypeError} for two parts of one name, or an empty id
 * @example
 * ```ts
 * const { data, failed } = await exportUser([files, streams, meter], env, "user-1");
 * ```
 */
export async function exportUser<Env>(
  parts: readonly OperatorPart<Env>[],
  env: Env,
  id: string,
): Promise<ExportedUser> {
  const data: Record<string, unknown> = {};
  const failed: string[] = [];
  const tooLarge: string[] = [];
  let left = MOST_CHARACTERS;
  for (const part of dataOf(parts, id)) {
    const kept = await run(part, "exported", env, () => part.exportUser(env, id));
    const length = kept && (JSON.stringify(kept.value) ?? "null").length;
    if (length === undefined) failed.push(part.name);
    else if (length > left) tooLarge.push(part.name);
    else {
      left -= length;
      data[part.name] = kept?.value ?? null;
    }
  }
  return { user: id, data, failed, tooLarge };
}

/** Returns what the parts keep of users. */
export function dataOf<Env>(parts: readonly OperatorPart<Env>[], id: string): readonly UserData<Env>[] {
  ensure(typeof id === "string" && id !== "", "user: give the id that `authenticate` returns");
  const all = parts.flatMap(({ userData }) => userData ?? []);
  const names = all.map(nameOf);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  ensure(twice === undefined, `parts: two are named ${twice}`);
  return all;
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

/** Runs the work of one part. Returns undefined where it fails or takes too long. */
async function run<Env, T>(
  { name }: UserData<Env>,
  done: string,
  env: Env,
  work: () => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  const settled = async () => ({ value: await work() });
  const failed = async (error: unknown) => {
    const request = new Request("https://operator.invalid/");
    await logCause(`operator: ${name} could not be ${done}`, error, { request, env, log: {} });
    return undefined;
  };
  const late = new Error(`it took longer than ${PART_MS} ms`);
  return await within(PART_MS, settled())
    .then((end) => end ?? failed(late))
    .catch(failed);
}
