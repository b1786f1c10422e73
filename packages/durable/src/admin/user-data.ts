import type { GatewayProxy, ProxyPlugin, UserData } from "@sluice/worker-proxy";
import { ensure, findServer, type PluginServer, waitAtMost } from "@sluice/worker-proxy/plugin";
import { ExportPage } from "./export-page.js";

/** The outcome of {@link eraseUser}. */
export interface ErasedUser {
  /** Names of the parts that store nothing of the user any more. */
  readonly erased: readonly string[];
  /** Names of the parts that failed, or took longer than a minute. Call again: what is erased stays so. */
  readonly failed: readonly string[];
}

/** All that the plugins store of a user. */
export interface ExportedUser {
  readonly user: string;
  /** The data of each part, by its name: `budgets`. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Names of the parts that failed, or took longer than a minute. */
  readonly failed: readonly string[];
  /** Names of the parts whose JSON did not fit into 8,388,608 characters together with those before them. */
  readonly tooLarge: readonly string[];
  /** The cursors of parts of which `data` has one page: `exportUser(proxy, env, user, { part, cursor })` returns the next. */
  readonly cursors: Readonly<Record<string, string>>;
}

/** Longest time for one part, in milliseconds. */
const PART_MS = 60_000;
/** Largest JSON of all parts together, in characters. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/**
 * Erases all that the plugins of a proxy store of a user, and ends what is under way. All parts are erased twice: what ends
 * in one part may write into another, as the end of a video does into the files. A part that fails does not stop the
 * others; the log has its cause.
 *
 * @param userId the id that `authenticate` returns
 * @throws {TypeError} for an empty id, and for a proxy that `createProxy` did not make
 * @example
 * ```ts
 * const { failed } = await eraseUser(proxy, env, "ada"); // call again until nothing has failed
 * ```
 */
export async function eraseUser<Env>(
  proxy: GatewayProxy<Env>,
  env: Env,
  userId: string,
): Promise<ErasedUser> {
  return await eraseFrom(findServer<Env>(proxy), env, userId);
}

/** Options of {@link exportUser}. */
export interface ExportOptions {
  /** Name of the only part to export. @default all */
  readonly part?: string | undefined;
  /** Cursor of the part, from the export before. @default the first page */
  readonly cursor?: string | undefined;
}

/**
 * Exports all that the plugins of a proxy store of a user, one part after the other: at most 8,388,608 characters of JSON.
 * It has no secrets.
 *
 * @param userId the id that `authenticate` returns
 * @throws {TypeError} for an empty id, and for a proxy that `createProxy` did not make
 * @example
 * ```ts
 * const { data, failed, tooLarge, cursors } = await exportUser(proxy, env, "ada");
 * ```
 */
export async function exportUser<Env>(
  proxy: GatewayProxy<Env>,
  env: Env,
  userId: string,
  page: ExportOptions = {},
): Promise<ExportedUser> {
  return await exportFrom(findServer<Env>(proxy), env, userId, page);
}

/** Erases a user from a server. See {@link eraseUser}. */
export async function eraseFrom<Env>(server: PluginServer<Env>, env: Env, id: string): Promise<ErasedUser> {
  checkId(id);
  const parts = findUserData(server.plugins);
  const erase = () =>
    Promise.all(parts.map((part) => run(server, part, "erased", env, () => part.eraseUser(env, id))));
  await erase();
  const ends = await erase();
  const names = (isDone: boolean) =>
    parts.filter((_, at) => (ends[at] !== undefined) === isDone).map(({ name }) => name);
  return { erased: names(true), failed: names(false) };
}

/**
 * Exports a user from a server. See {@link exportUser}.
 *
 * @throws {TypeError} for a part that no plugin has, and for a cursor without a part
 */
export async function exportFrom<Env>(
  server: PluginServer<Env>,
  env: Env,
  id: string,
  { part, cursor }: ExportOptions = {},
): Promise<ExportedUser> {
  checkId(id);
  ensure(cursor === undefined || part !== undefined, "cursor: give the part that it belongs to");
  for (const [name, given] of Object.entries({ part, cursor }))
    ensure(given === undefined || typeof given === "string", `${name}: give a text`);
  const parts = findUserData(server.plugins).filter(({ name }) => (part ?? name) === name);
  ensure(part === undefined || parts.length > 0, "part: there is none of this name");
  const data: Record<string, unknown> = {};
  const failed: string[] = [];
  const tooLarge: string[] = [];
  const cursors: Record<string, string> = {};
  let left = MAX_CHARACTERS;
  for (const part of parts) {
    const stored = await run(server, part, "exported", env, () => part.exportUser(env, id, cursor));
    const page = stored?.value instanceof ExportPage ? stored.value : undefined;
    const value = page ? page.items : stored?.value;
    const length = stored && (JSON.stringify(value) ?? "null").length;
    if (length === undefined) failed.push(part.name);
    else if (length > left) tooLarge.push(part.name);
    else {
      left -= length;
      data[part.name] = value ?? null;
      if (page?.cursor !== undefined) cursors[part.name] = page.cursor;
    }
  }
  return { user: id, data, failed, tooLarge, cursors };
}

/** @throws {TypeError} if two plugins have one name */
export function checkUserData<Env>(plugins: readonly ProxyPlugin<Env>[]): void {
  const names = findUserData(plugins).map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  ensure(twice === undefined, `plugins: two are named ${twice}`);
}

function checkId(id: unknown): void {
  ensure(typeof id === "string" && id !== "", "user: give the id that `authenticate` returns");
}

function findUserData<Env>(plugins: readonly ProxyPlugin<Env>[]): readonly UserData<Env>[] {
  return plugins.flatMap(({ userData }) => userData ?? []);
}

/** Runs the work of one part. Returns undefined if it fails or takes too long. */
async function run<Env, Value>(
  { setup }: PluginServer<Env>,
  { name }: UserData<Env>,
  done: string,
  env: Env,
  work: () => Promise<Value>,
): Promise<{ readonly value: Value } | undefined> {
  try {
    const end = await waitAtMost(
      PART_MS,
      Promise.resolve()
        .then(work)
        .then((value) => ({ value })),
    );
    if (!end) throw new Error(`it took longer than ${PART_MS} ms`);
    return end;
  } catch (error) {
    setup.report(`operator: ${name} could not be ${done}`, error, env);
    return undefined;
  }
}
