import type { GatewayProxy, ProxyPlugin } from "@sluice/worker-proxy";
import {
  ensure,
  findServer,
  type PluginServer,
  type UserData,
  waitAtMost,
} from "@sluice/worker-proxy/plugin";
import { ExportPage } from "./export-page.js";

/** The outcome of {@link eraseUser}. */
export interface ErasedUser {
  /** Names of the parts that no longer store data of the user. */
  readonly erased: readonly string[];
  /** Names of the parts that failed or took longer than a minute. Call again to retry: erased data stays erased. */
  readonly failed: readonly string[];
}

/** All data that the plugins store for a user. */
export interface ExportedUser {
  readonly user: string;
  /** The data of each part by its name, such as `budgets`. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Names of the parts that failed, or took longer than a minute. */
  readonly failed: readonly string[];
  /** Names of the parts whose JSON, together with the earlier parts, exceeds 8,388,608 characters. */
  readonly tooLarge: readonly string[];
  /**
   * Cursors of the parts with more pages. Call `exportUser(proxy, env, user, { part, cursor })` for the next page of a
   * part.
   */
  readonly cursors: Readonly<Record<string, string>>;
}

/** Timeout of one part, in milliseconds. */
const PART_MS = 60_000;
/** Maximum JSON size of all parts together, in characters. */
const MAX_CHARACTERS = 8 * 1024 * 1024;

/**
 * Erases all data that the plugins of a proxy store for a user, and ends running work. Erases each part twice, because
 * work that ends in one part can write into another. For example, the end of a video can add files. A part that fails
 * does not stop the others. The log contains its cause.
 *
 * @param userId the id that `authenticate` returns
 * @throws {TypeError} for an empty id, and for a proxy that was not created by `createProxy`
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
  /** Cursor of the part from the previous export. @default the first page */
  readonly cursor?: string | undefined;
}

/**
 * Exports all data that the plugins of a proxy store for a user, one part after another: at most 8,388,608 characters
 * of JSON. The export contains no secrets.
 *
 * @param userId the id that `authenticate` returns
 * @throws {TypeError} for an empty id, and for a proxy that was not created by `createProxy`
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
    Promise.all(parts.map((part) => runPart(server, part, "erased", env, () => part.eraseUser(env, id))));
  await erase();
  const results = await erase();
  const names = parts.map(({ name }) => name);
  const isErased = (_: string, index: number) => results[index] !== undefined;
  const erased = names.filter(isErased);
  return { erased, failed: names.filter((name) => !erased.includes(name)) };
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
  for (const [name, value] of Object.entries({ part, cursor }))
    ensure(value === undefined || typeof value === "string", `${name}: give a text`);
  const parts = findUserData(server.plugins).filter(({ name }) => (part ?? name) === name);
  ensure(part === undefined || parts.length > 0, "part: no part has this name");
  const data: Record<string, unknown> = {};
  const failed: string[] = [];
  const tooLarge: string[] = [];
  const cursors: Record<string, string> = {};
  let remaining = MAX_CHARACTERS;
  for (const part of parts) {
    const stored = await runPart(server, part, "exported", env, () => part.exportUser(env, id, cursor));
    const page = stored?.value instanceof ExportPage ? stored.value : undefined;
    const value = page ? page.items : stored?.value;
    const length = stored && (JSON.stringify(value) ?? "null").length;
    if (length === undefined) failed.push(part.name);
    else if (length > remaining) tooLarge.push(part.name);
    else {
      remaining -= length;
      data[part.name] = value ?? null;
      if (page?.cursor !== undefined) cursors[part.name] = page.cursor;
    }
  }
  return { user: id, data, failed, tooLarge, cursors };
}

/** @throws {TypeError} if two plugins have the same name */
export function checkUserData<Env>(plugins: readonly ProxyPlugin<Env>[]): void {
  const names = findUserData(plugins).map(({ name }) => name);
  const duplicate = names.find((name, index) => names.indexOf(name) !== index);
  ensure(duplicate === undefined, `plugins: two have the name ${duplicate}`);
}

function checkId(id: unknown): void {
  ensure(typeof id === "string" && id !== "", "user: give the id that `authenticate` returns");
}

function findUserData<Env>(plugins: readonly ProxyPlugin<Env>[]): readonly UserData<Env>[] {
  return plugins.flatMap(({ userData }) => userData ?? []);
}

/** Runs the work of one part. Reports an error or a timeout, and returns undefined. */
async function runPart<Env, Value>(
  { log }: PluginServer<Env>,
  { name }: UserData<Env>,
  verb: "erased" | "exported",
  env: Env,
  work: () => Promise<Value>,
): Promise<{ readonly value: Value } | undefined> {
  try {
    const run = async () => ({ value: await work() });
    const result = await waitAtMost(PART_MS, run());
    if (!result) throw new Error(`it took longer than ${PART_MS} ms`);
    return result;
  } catch (error) {
    await log(`operator: ${name} could not be ${verb}`, error, { env });
    return undefined;
  }
}
