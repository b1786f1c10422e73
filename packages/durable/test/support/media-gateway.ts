import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileOf, startMediaProxy, starts } from "./media.js";

type Answer = (response: ServerResponse) => void;

/** A host of files on a real socket, which notes each request. */
export async function startFileHost() {
  const requests: { readonly url: string; readonly headers: readonly string[] }[] = [];
  const answers = new Map<string, Answer>();
  const server = createServer(({ url = "", rawHeaders }, response) => {
    requests.push({ url, headers: rawHeaders });
    const answer = answers.get(url.split("?", 1)[0] ?? "");
    if (answer) answer(response);
    else response.writeHead(404).end();
  });
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    requests,
    /** Answers a path so. */
    serves: (path: string, answer: Answer) => void answers.set(path, answer),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A file with its length, as a bucket's own server sends it. */
export const sends =
  (bytes: Uint8Array, type = "video/mp4"): Answer =>
  (response) =>
    void response.writeHead(200, { "content-type": type, "content-length": bytes.length }).end(bytes);

/** A redirect. */
export const leadsTo =
  (location: string): Answer =>
  (response) =>
    void response.writeHead(302, { location }).end();

export const picture = fileOf(starts.png, 50_000);
export const film = fileOf(starts.mp4, 200_000);

/** A proxy with an archive, in front of a gateway whose tasks have succeeded, and a host of their films. */
export async function startArchive(archive: object | false = {}, store: object = {}) {
  const files = await startFileHost();
  const options = archive && { hosts: [files.host], retryMs: 1, ...archive };
  const proxy = await startMediaProxy({ ...store, archive: options });
  let urlOf = (id: string) => `${files.url}/${id}.mp4`;
  files.serves("/film.mp4", sends(film));
  proxy.upstream.answers((response, { method, url, body }) => {
    const json = (value: unknown) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    if (url.includes("images")) return json({ data: [{ url: urlOf(JSON.parse(body).prompt) }] });
    if (method === "POST") return json({ id: JSON.parse(body).input.prompt, status: "queued" });
    const id = url.split("/").at(-1) ?? "";
    const film = urlOf(id);
    const content = id === "framed" && { last_frame_url: film.replace(/mp4$/, "png") };
    const data = { task_id: id, status: "SUCCESS", result_url: film, ...(content && { data: { content } }) };
    return json({ code: "success", data });
  });

  /** Sends JSON, and returns the answer. */
  const post = async <T>(path: string, body: object, user = "user-1") => {
    const headers = { "content-type": "application/json" };
    const response = await proxy.ask(path, { user, method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as T;
  };

  return {
    ...proxy,
    files,
    post,
    /** Decides the address of the film of each task, and of the image of each prompt. */
    points(next: typeof urlOf) {
      urlOf = next;
    },
    /** Creates a task, which has ended at once, and returns its id as its user knows it. */
    async create(prompt = "film", user = "user-1") {
      const body = { model: "beta3.0-video", input: { prompt } };
      return (await post<{ id: string }>("/v1/video/generations", body, user)).id;
    },
    /** Polls a task as a tab does. */
    async poll(id: string, user = "user-1") {
      const response = await proxy.ask(`/v1/video/generations/${id}`, { user });
      return { response, text: await response.text() };
    },
    /** The copies of files, by the ids of their tasks or by addresses. */
    async archived(names: { tasks?: readonly string[]; urls?: readonly string[] }, user = "user-1") {
      return (await post<{ files: readonly Archived[] }>("/v1/archive", names, user)).files;
    },
    /** Lines of the log about copies that failed. */
    failures: () => proxy.logs.filter((line) => line.includes("archive:")),
    async close() {
      await proxy.close();
      files.close();
    },
  };
}

interface Archived {
  readonly lastFrame?: Archived;
  readonly name: string;
  readonly id: string;
  readonly url: string;
  readonly type: string;
  readonly bytes: number;
  readonly expiresAt: number;
  readonly keptUntil: number;
}
