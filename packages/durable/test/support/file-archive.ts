import type { JobEvent } from "@sluice/worker-proxy";
import { expect, onTestFinished, vi } from "vitest";
import type { FileStoreOptions } from "../../src/file-store/files/options.js";
import { createFile, firstBytes, openFileStore, type Upload, useClock } from "./file-store.js";

type Serve = (request: Request) => Response | Promise<Response>;

export const imageBytes = createFile(firstBytes.png, 50_000);
export const video = createFile(firstBytes.mp4, 200_000);
/** The host of results. */
export const CDN = "https://cdn.example.com";

/** Sends a file with its length, as the server of a bucket does. */
export const serveFile =
  (bytes: Uint8Array<ArrayBuffer>): Serve =>
  () =>
    new Response(bytes, { headers: { "content-length": String(bytes.length) } });

export const redirectTo =
  (location: string): Serve =>
  () =>
    new Response(null, { status: 302, headers: { location } });

/** Sends half of a file, and the rest when `finish` is called. */
export function holdFile(bytes: Uint8Array<ArrayBuffer>) {
  let finish = () => {};
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const serve: Serve = () => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, bytes.length / 2));
        finish = () => {
          controller.enqueue(bytes.slice(bytes.length / 2));
          controller.close();
        };
      },
    });
    begin();
    return new Response(body, { headers: { "content-length": String(bytes.length) } });
  };
  return { serve, begun, finish: () => finish() };
}

interface Copy extends Upload {
  readonly name: string;
  readonly lastFrame?: Copy;
}

type Stored = Pick<NonNullable<Parameters<typeof openFileStore>[0]>, "bucket" | "file" | "host" | "before">;

interface ArchiveSetup extends Stored {
  readonly archive?: Exclude<FileStoreOptions["archive"], undefined>;
  readonly options?: Partial<FileStoreOptions<unknown>>;
}

/** Opens the hosts of results, and records each request. Requests to other addresses fail. */
export function openSources() {
  const requests: Request[] = [];
  const sources = new Map<string, Serve>();
  vi.stubGlobal("fetch", async (input: URL | Request, init?: RequestInit) => {
    const request = new Request(input, init);
    requests.push(request);
    const serve = sources.get(request.url.split("?", 1)[0] ?? "");
    if (!serve) throw new TypeError("fetch failed");
    return await serve(request);
  });
  onTestFinished(() => void vi.unstubAllGlobals());
  return {
    requests,
    /** The addresses that were fetched. */
    fetched: () => requests.map(({ url }) => url),
    serve: (name: string, serve: Serve) =>
      void sources.set(name.startsWith("https:") ? name : `${CDN}/${name}`, serve),
  };
}

/**
 * Opens a proxy with an archive. At its gateway, each task succeeds at once, and its prompt is its id. The task `failed`
 * fails, and `fileless` has no file.
 */
export function openArchive({ archive = true, options, ...stored }: ArchiveSetup = {}) {
  const clock = useClock();
  const sources = openSources();
  sources.serve("video.mp4", serveFile(video));
  let findAddress = (id: string) => `${CDN}/${id}.mp4`;
  const respond = async (request: Request) => {
    const { pathname } = new URL(request.url);
    const body = request.method === "POST" ? ((await request.json()) as never) : undefined;
    const { prompt = "", input = { prompt: "" } } = body ?? ({} as Record<string, never>);
    if (pathname.includes("images")) return Response.json({ data: [{ url: findAddress(prompt) }] });
    if (pathname.includes("chat")) return Response.json({ data: [{ url: findAddress("other") }] });
    if (body) return Response.json({ id: input.prompt, status: "queued" });
    const id = pathname.split("/").at(-1) ?? "";
    const url = findAddress(id);
    const content = id === "framed" && { last_frame_url: url.replace(/mp4$/, "png") };
    if (id === "failed") return Response.json({ code: "success", data: { task_id: id, status: "FAILURE" } });
    if (id === "fileless")
      return Response.json({ code: "success", data: { task_id: id, status: "SUCCESS" } });
    const data = { task_id: id, status: "SUCCESS", result_url: url, ...(content && { data: { content } }) };
    return Response.json({ code: "success", data });
  };
  const open = (more: Stored = {}) => {
    const store = openFileStore({
      options: { archive, ...options },
      proxy: { fetch: respond },
      ...stored,
      ...more,
    });
    return { ...store, ...describe(store) };
  };
  const files = open();

  /** Lets time pass, and polls a value for an expectation. */
  const until = <T>(check: () => T | Promise<T>) =>
    expect.poll(async () => {
      await clock.run(50);
      return await check();
    });

  return {
    clock,
    sources,
    until,
    files,
    open,
    create: files.create,
    poll: files.poll,
    findCopies: files.findCopies,
    failures: files.failures,
    copyEvents: files.copyEvents,
    setFindAddress: (next: typeof findAddress) => {
      findAddress = next;
    },
  };

  function describe(store: ReturnType<typeof openFileStore>) {
    return {
      /** Creates a task. Returns the id that the client receives. */
      async create(prompt = "video", user = "user-1") {
        const response = await store.post(
          "/v1/video/generations",
          { model: "beta3.0-video", input: { prompt } },
          user,
        );
        return ((await response.json()) as { id: string }).id;
      },
      /** Polls a task as a page does. */
      async poll(id: string, user = "user-1") {
        const response = await store.request(`/v1/video/generations/${id}`, { user });
        const text = await response.text();
        await store.settle();
        return { response, text };
      },
      /** The copies of files, by the ids of their tasks or by addresses. */
      async findCopies(names: { tasks?: readonly string[]; urls?: readonly string[] }, user = "user-1") {
        const response = await store.post("/v1/archive", names, user);
        return ((await response.json()) as { files: readonly Copy[] }).files;
      },
      /** Lines of the log about copies that failed. */
      failures: () => store.logs.filter((line) => line.includes("archive:")),
      copyEvents: () => store.jobEvents().filter(({ job }: JobEvent) => job === "archive"),
    };
  }
}
