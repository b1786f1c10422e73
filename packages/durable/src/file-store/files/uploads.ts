import type { AdmittedRequest, JobEvent, JobOutcome } from "@sluice/worker-proxy";
import { describeRefusal, limitTime, toRefusal } from "@sluice/worker-proxy/plugin";
import { describeFile } from "./describe-file.js";
import { type FileBody, openUpload } from "./file-body.js";
import { findType } from "./file-type.js";
import { MARGIN_MS, PART_BYTES, UPLOAD_MS } from "./options.js";
import { claimPart, releaseClaim } from "./parts.js";
import { readFile } from "./readings.js";
import { refuseFile } from "./refusals.js";
import { checkFound, checkOwner, type Store, type UserFiles } from "./store.js";
import { joinParts, PART_MS, storeFile, storePart } from "./store-bytes.js";
import type { FileRow } from "./tables.js";

/** Header of a 409 while another request sends the part: the client checks again after 5 s. */
const IN_FLIGHT = { "retry-after": "5" };

/** Creates the handlers of the upload routes. */
export function createUploads<Env>(store: Store<Env>) {
  const { settings } = store;
  return { begin, continueUpload, read, remove };

  /** Stores a file, or the first part of a longer one. */
  async function begin(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { request, env, user } = admitted;
    const files = await store.open(env, user.id);
    return await limitTime(UPLOAD_MS, async (signal) => {
      const body = openUpload(request, signal);
      try {
        const bytes = readBytes(request, "upload-length", 1, body.length);
        checkSize(body, bytes, settings);
        const file = { id: await files.links.createId(user.id), bytes };
        const readType = () => readFileType(body, settings);
        const row = await storeFile(files, body, file, readType).catch((error: unknown) => {
          const { code } = describeRefusal(toRefusal(error));
          if (code !== "file_type") report(admitted, file, "failed", { code });
          throw error;
        });
        if (row.state === "whole") report(admitted, row, "complete");
        return Response.json(await describeFile(store, request, files, row), { status: 201 });
      } finally {
        body.cancel();
      }
    });
  }

  /** Stores the next part. The last part completes the file. */
  async function continueUpload(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { request, env, user } = admitted;
    const files = await store.open(env, user.id);
    const offset = readBytes(request, "upload-offset", 0);
    const row = await claim(files, admitted, offset);
    try {
      const now = offset < row.bytes ? await storePart(files, request, row) : row;
      const isLast = now.received === now.bytes && now.state === "open";
      const whole = isLast ? await joinParts(files, now) : now;
      if (isLast) report(admitted, whole, "complete");
      return Response.json(await describeFile(store, request, files, whole));
    } catch (error) {
      // if this fails too, the claim expires
      await files.run(releaseClaim, { id: row.id, claim: row.claim }).catch(() => {});
      throw error;
    }
  }

  /** @throws {Refusal} 404 as {@link find}; 409 for another offset, and while another request sends this part */
  async function claim(
    files: UserFiles,
    { id = "", user }: AdmittedRequest<Env>,
    from: number,
  ): Promise<FileRow> {
    await checkOwner(files.links, id, user);
    const input = { id, from, claim: crypto.randomUUID(), ms: PART_MS + MARGIN_MS };
    const { file, isClaimed } = await files.run(claimPart, input);
    const found = checkFound(file);
    if (isClaimed) return found;
    if (found.state === "whole" || found.received !== from)
      throw refuseFile("upload_offset", { what: found.received });
    throw refuseFile("upload_in_flight", { headers: IN_FLIGHT });
  }

  /** Returns the progress of an upload. A complete file gets a new link. */
  async function read(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { request, env, user } = admitted;
    const files = await store.open(env, user.id);
    return Response.json(await describeFile(store, request, files, await find(files, admitted)));
  }

  /** Deletes a file or an unfinished upload. */
  async function remove(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { env, user } = admitted;
    const files = await store.open(env, user.id);
    const row = await find(files, admitted);
    await files.discard(row.id, true);
    // the copy job reports the end of a copy
    if (row.state === "open" && !row.isCopy) report(admitted, row, "stopped");
    return new Response(null, { status: 204 });
  }

  /** @throws {Refusal} 404 for an id that was not made for this user */
  async function find(files: UserFiles, { id = "", user }: AdmittedRequest<Env>): Promise<FileRow> {
    await checkOwner(files.links, id, user);
    return checkFound(await files.run(readFile, { id, now: Date.now() }));
  }

  function report(
    { env, user }: Pick<AdmittedRequest<Env>, "env" | "user">,
    { id, bytes }: Pick<FileRow, "id" | "bytes">,
    outcome: JobOutcome,
    why: Pick<JobEvent, "code"> = {},
  ): void {
    store.server.report({ kind: "upload", id, outcome, user: user.id, bytes, ...why }, env);
  }
}

/** @throws {Refusal} 413 for a file that is too large, 400 for a first part of the wrong size */
function checkSize(body: FileBody, bytes: number, { maxBytes }: UserFiles["settings"]): void {
  if (bytes > maxBytes) throw refuseFile("file_too_large", { what: maxBytes });
  const isWhole = bytes === body.length;
  if (!isWhole && (body.length !== PART_BYTES || bytes < PART_BYTES))
    throw refuseFile("part_size", { what: Math.min(bytes, PART_BYTES) });
}

/** Returns the type of a new file. @throws {Refusal} 415 for a type that is not accepted */
async function readFileType(body: FileBody, { types }: UserFiles["settings"]): Promise<string> {
  const type = findType(await body.head());
  if (!type || !types.includes(type)) throw refuseFile("file_type", { what: types.join(", ") });
  return type;
}

/** @throws {Refusal} 400 for an invalid number of bytes, or a missing header without a `usual` value */
function readBytes({ headers }: Request, name: string, min: number, usual?: number): number {
  const text = headers.get(name);
  if (text === null && usual !== undefined) return usual;
  if (!/^\d{1,15}$/.test(text ?? "") || Number(text) < min) throw refuseFile("bytes_header", { what: name });
  return Number(text);
}
