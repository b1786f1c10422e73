import { type AdmittedRequest, Refusal, readBody } from "@sluice/worker-proxy/plugin";
import { findFileId } from "../files/links.js";
import { refuseFile } from "../files/refusals.js";
import type { Store } from "../files/store.js";
import { type FileRow, findFiles, isVisible } from "../files/tables.js";
import { linkFile } from "../files/user-files.js";
import { hashFrameSource, hashURLSource, hashVideoSource } from "./archive.js";

/** Maximum number of files per request. */
const MAX_FILES = 100;
/** Maximum body size, in bytes. Signed URLs are long. */
const MAX_BYTES = 262_144;

/** A file in a request, named by its task id or by a URL that the page received. */
interface RequestedFile {
  readonly name: string;
  readonly id?: string | undefined;
  readonly source?: string | undefined;
  /** The source of the last frame, for a task. */
  readonly frame?: string | undefined;
}

/**
 * Creates the handler of `POST /v1/archive`, which returns the latest links to a user's copies. It sends no request to
 * the gateway.
 */
export function createArchiveLinks<Env>(store: Store<Env>) {
  return async (admitted: AdmittedRequest<Env>): Promise<Response> => {
    const { env, user } = admitted;
    const { tasks, urls } = await readNames(admitted.request, store.server.timeout.bodyMs);
    const files = await store.open(env, user.id);
    const tenancy = await store.server.openTenancy(env, user);
    const videos = tasks.map(async (name): Promise<RequestedFile> => {
      const id = tenancy ? await tenancy.verify("task", name) : name;
      return id === undefined
        ? { name }
        : { name, source: await hashVideoSource(id), frame: await hashFrameSource(id) };
    });
    // another user's file id matches none of this user's rows
    const addresses = urls.map(async (name): Promise<RequestedFile> => {
      const id = findFileId(name);
      return id === undefined ? { name, source: await hashURLSource(name) } : { name, id };
    });
    const requested = await Promise.all([...videos, ...addresses]);
    const ids = requested.flatMap(({ id }) => id ?? []);
    const sources = requested.flatMap(({ source, frame }) => [source ?? [], frame ?? []].flat());
    const found = await files.run(findFiles, { ids, sources });
    const findRow = ({ id, source }: Pick<RequestedFile, "id" | "source">) =>
      found.find(
        (row) =>
          row.state === "whole" &&
          isVisible(row) &&
          (row.id === id || (source !== undefined && row.source === source)),
      );
    const describe = async (row: FileRow) => {
      const { id, bytes, type } = row;
      return { id, type, bytes, ...(await linkFile(store, admitted.request, files, row)) };
    };
    const described = requested.map(async (file) => {
      const row = findRow(file);
      if (!row) return [];
      const frame = findRow({ source: file.frame });
      return [
        { name: file.name, ...(await describe(row)), ...(frame && { lastFrame: await describe(frame) }) },
      ];
    });
    return Response.json({ files: (await Promise.all(described)).flat() });
  };
}

/**
 * @throws {Refusal} 411 without a length, 408 for a body that arrives late, 400 for a body that is too long, is not
 * JSON or names no files
 */
async function readNames(request: Request, ms: number): Promise<Record<"tasks" | "urls", readonly string[]>> {
  const isJSON = request.headers.get("content-type")?.split(";")[0] === "application/json";
  if (isJSON && !request.headers.has("content-length")) throw refuseFile("length_required");
  const body = await readBody(request, { maxBytes: MAX_BYTES, ms }).catch((error: unknown) => {
    if (error instanceof Refusal && error.reason !== "body_timeout") return undefined;
    throw error;
  });
  const { tasks = [], urls = [] } = (body ?? {}) as { tasks?: unknown; urls?: unknown };
  const names = [tasks, urls].flat();
  const areNames =
    Array.isArray(tasks) && Array.isArray(urls) && names.every((name) => typeof name === "string");
  if (areNames && names.length > 0 && names.length <= MAX_FILES)
    return { tasks: tasks as readonly string[], urls: urls as readonly string[] };
  throw refuseFile("archive_request", { what: MAX_FILES });
}
