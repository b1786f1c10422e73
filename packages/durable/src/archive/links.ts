import { ownId, Refusal, readBody, tenancyOf } from "@sluice/worker-proxy/internal";
import type { FileRow } from "../files/file-rows.js";
import type { FileRequest } from "../files/gates.js";
import { idIn, linkTo } from "../files/links.js";
import type { MediaSettings } from "../files/options.js";
import { mediaRefusal } from "../files/refusals.js";
import type { StoreParts } from "../files/uploads.js";
import { fileAt, filmOf, frameOf } from "./archive.js";

/** Most files that one request may name. */
const MOST_FILES = 100;
/** The largest body: addresses are signed, and long. */
const MOST_BYTES = 262_144;
/** The longest time for it to arrive, in milliseconds. */
const MOST_MS = 30_000;

/** A file that a request names: by the id of its task, or by an address that the page has had. */
interface Named {
  /** The name as it was sent. */
  readonly name: string;
  readonly id?: string | undefined;
  readonly source?: string | undefined;
  /** The name of the last frame, for a task. */
  readonly frame?: string | undefined;
}

interface Names {
  readonly tasks: readonly string[];
  readonly urls: readonly string[];
}

/** Makes `POST /v1/archive`, which gives a user the newest links to copies. The gateway is not asked. */
export function createArchiveLinks<Env>(
  settings: MediaSettings<Env>,
  secretsOf: (env: Env) => Promise<readonly string[]>,
  partsOf: (given: FileRequest<Env>) => Promise<StoreParts>,
) {
  return { find };

  async function find(asked: FileRequest<Env>): Promise<Response> {
    const user = await asked.signIn();
    const { tasks, urls } = await namesIn(asked.request, Math.min(settings.bodyMs, MOST_MS));
    const { links, space } = await partsOf(asked);
    const secrets = await secretsOf(asked.env);
    const tenancy = secrets.length > 0 ? tenancyOf(secrets, user) : undefined;
    const films = tasks.map(async (name): Promise<Named> => {
      const id = await ownId(tenancy, "task", name).catch(() => undefined);
      return id === undefined ? { name } : { name, source: await filmOf(id), frame: await frameOf(id) };
    });
    // an id of another user's is not in this user's object
    const files = urls.map(async (name): Promise<Named> => {
      const id = idIn(name);
      return id === undefined ? { name, source: await fileAt(name) } : { name, id };
    });
    const named = await Promise.all([...films, ...files]);
    const ids = named.map(({ id }) => id).filter((id) => id !== undefined);
    const sources = named.flatMap(({ source, frame }) => [source, frame]).filter((one) => one !== undefined);
    const { files: found = [] } = await space.ask(user.id, { do: "find", ids, sources });
    const rowOf = ({ id, source }: Pick<Named, "id" | "source">) =>
      found.find((row) => row.id === id || (source !== undefined && row.source === source));
    const copyIn = async (row: FileRow) => {
      const { id, bytes, type } = row;
      return { id, type, bytes, ...(await linkTo(row, links, settings, asked)) };
    };
    const answers = named.map(async (one) => {
      const row = rowOf(one);
      if (!row) return [];
      const frame = rowOf({ source: one.frame });
      return [{ name: one.name, ...(await copyIn(row)), ...(frame && { lastFrame: await copyIn(frame) }) }];
    });
    return Response.json({ files: (await Promise.all(answers)).flat() });
  }
}

/** @throws {Refusal} 411 without a length, 408 for a body that is late, 400 for one that is too long, is no JSON or names no files */
async function namesIn(request: Request, bodyMs: number): Promise<Names> {
  const isJSON = request.headers.get("content-type")?.split(";")[0] === "application/json";
  if (isJSON && !request.headers.has("content-length")) throw mediaRefusal("length_required");
  const body = await readBody(request, { maxBytes: MOST_BYTES, ms: bodyMs }).catch((error: unknown) => {
    if (error instanceof Refusal && error.reason !== "body_timeout") return undefined;
    throw error;
  });
  const { tasks = [], urls = [] } = (body ?? {}) as { tasks?: unknown; urls?: unknown };
  const names = [tasks, urls].flat();
  const areNames =
    Array.isArray(tasks) && Array.isArray(urls) && names.every((name) => typeof name === "string");
  if (areNames && names.length > 0 && names.length <= MOST_FILES) return { tasks, urls } as Names;
  throw mediaRefusal("archive_request", { what: MOST_FILES });
}
