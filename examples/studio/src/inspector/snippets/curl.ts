import type { Work } from "../inspected.js";
import { chatRequestOf } from "./chat-body.js";
import { json } from "./literal.js";

const paths = {
  chat: "/v1/chat/completions",
  images: "/v1/images/generations",
  videos: "/v1/video/generations",
  assets: "/gamma/asset/CreateAsset",
};

/** Writes the request as a curl command. */
export function curlOf(work: Work, baseURL: string): string {
  const body = work.room === "chat" ? { ...chatRequestOf(work), stream: true } : work.request;
  // a quote in a quoted word of the shell: close, escape, open
  const quoted = json(body).replaceAll("'", "'\\''");
  return `curl ${work.room === "chat" ? "-N " : ""}${baseURL}${paths[work.room]} \\
  -H 'content-type: application/json' \\
  -d '${quoted}'
`;
}
