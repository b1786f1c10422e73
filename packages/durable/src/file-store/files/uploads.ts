import { type AdmittedRequest, Refusal } from "@sluice/worker-proxy/plugin";
import { limitTime } from "../../shared/time.js";
import { type FileBody, openUploadBody } from "./file-body.js";
import { EXTENSIONS, findType } from "./file-type.js";
import { ATTEMPT_MS, PART_BYTES, STORE_MS } from "./options.js";
import { refuseFile } from "./refusals.js";
import { removeFile } from "./removal.js";
import { checkFound, type Store, type UserFiles } from "./store.js";
import { endClaimOnError, joinParts, storeFile, storePart } from "./store-bytes.js";
import { claimPart } from "./storing-operations.js";
import type { FileRow } from "./tables.js";
import { describeFile } from "./user-files.js";

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
    return await receiveBody(request, async (body) => {
      const bytes = readBytes(request, "upload-length", 1, body.length);
      checkSize(body, bytes, settings);
      const file = { id: await files.links.createId(user.id), bytes };
      const row = await storeFile(files, body, file, () => readFileType(body)).catch((error: unknown) => {
        const { code } = Refusal.from(error);
        if (code !== "file_type") files.report(file, { outcome: "error", code });
        throw error;
      });
      if (row.state === "whole") files.report(row, { outcome: "complete" });
      return await respond(admitted, files, row, 201);
    });
  }

  /** Stores the next part. The last part completes the file. */
  async function continueUpload(admitted: AdmittedRequest<Env>): Promise<Response> {
    const { request, env, user } = admitted;
    const files = await store.open(env, user.id);
    const offset = readBytes(request, "upload-offset", 0);
    const row = await claim(files, admitted, offset);
    return await endClaimOnError(files, row, async () => {
      const storeBody = (body: FileBody) => storePart(files, body, row);
      const updated = offset < row.bytes ? await receiveBody(request, storeBody) : row;
      const isLast = updated.received === updated.bytes && updated.state === "open";
      if (!isLast) return await respond(admitted, files, updated);
      const whole = await joinParts(files, updated);
      files.report(whole, { outcome: "complete" });
      return await respond(admitted, files, whole);
    });
  }

  /** @throws {Refusal} 404 as `find`; 409 for another offset, and while another request sends this part */
  async function claim(files: UserFiles, admitted: AdmittedRequest<Env>, from: number): Promise<FileRow> {
    const id = await files.checkId(admitted.id);
    const claim = crypto.randomUUID();
    const row = checkFound(await files.run(claimPart, { id, from, claim, claimMs: ATTEMPT_MS }));
    if (row.claim === claim) return row;
    if (row.state === "whole" || row.received !== from)
      throw refuseFile("upload_offset", { what: row.received });
    throw refuseFile("upload_in_flight", { headers: IN_FLIGHT });
  }

  /** Returns the progress of an upload. A complete file gets a new link. */
  async function read(admitted: AdmittedRequest<Env>): Promise<Response> {
    const files = await store.open(admitted.env, admitted.user.id);
    return await respond(admitted, files, await files.find(admitted.id));
  }

  /** Deletes a file or an unfinished upload. */
  async function remove(admitted: AdmittedRequest<Env>): Promise<Response> {
    const files = await store.open(admitted.env, admitted.user.id);
    const row = await files.find(admitted.id);
    await files.remove(await files.run(removeFile, { id: row.id }));
    // the copy job reports the end of a copy
    if (row.state === "open" && !row.isCopy) files.report(row, { outcome: "stopped" });
    return new Response(null, { status: 204 });
  }

  async function respond(
    { request }: AdmittedRequest<Env>,
    files: UserFiles,
    row: FileRow,
    status = 200,
  ): Promise<Response> {
    return Response.json(await describeFile(store, request, files, row), { status });
  }
}

/** Opens the body of a request for some work, which has {@link STORE_MS}. */
function receiveBody<T>(request: Request, work: (body: FileBody) => Promise<T>): Promise<T> {
  return limitTime(STORE_MS, async (signal) => {
    const body = openUploadBody(request, signal);
    try {
      return await work(body);
    } finally {
      body.cancel();
    }
  });
}

/** @throws {Refusal} 413 for a file that is too large, 400 for a first part of the wrong size */
function checkSize(body: FileBody, bytes: number, { maxBytes }: UserFiles["settings"]): void {
  if (bytes > maxBytes) throw refuseFile("file_too_large", { what: maxBytes });
  const what = Math.min(bytes, PART_BYTES);
  if (body.length !== what) throw refuseFile("part_size", { what });
}

/** Returns the type of a new file. @throws {Refusal} 415 for a type that is not accepted */
async function readFileType(body: FileBody): Promise<string> {
  const type = findType(await body.readHead());
  if (!type) throw refuseFile("file_type", { what: `accepted are ${Object.keys(EXTENSIONS).join(", ")}` });
  return type;
}

/** @throws {Refusal} 400 for an invalid number of bytes, or a missing header without a `fallback` */
function readBytes({ headers }: Request, name: string, min: number, fallback?: number): number {
  const text = headers.get(name);
  if (text === null && fallback !== undefined) return fallback;
  if (!/^\d{1,15}$/.test(text ?? "") || Number(text) < min) throw refuseFile("bytes_header", { what: name });
  return Number(text);
}
