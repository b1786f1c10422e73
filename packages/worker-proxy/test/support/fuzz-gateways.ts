import type { Socket } from "node:net";
import { KEY } from "./key.js";
import type { Random } from "./random.js";
import { createPiece, createResponse, done, stopped, streamHead, used } from "./raw-gateway.js";

/** Behaviour of a gateway for one request, and its bill for it. */
export interface Behaviour {
  readonly name: string;
  respond(socket: Socket): void;
  /** Tokens that it bills; `any` where the proxy can't know, `all` where all that was reserved has to be paid. */
  readonly bill: number | "any" | "all";
  /** True if the client gets all of the response. */
  readonly isWhole?: boolean;
}

const chunkedHead =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const escaped = [...KEY].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join("");
const error = (message: string) => JSON.stringify({ error: { message, type: "a", code: "b" } });

/** Writes the text in pieces, each separately. */
function trickle(socket: Socket, text: string | Buffer, size: number, end: () => void): void {
  const bytes = Buffer.from(text);
  const next = (at: number) => {
    if (socket.destroyed) return;
    if (at >= bytes.length) return end();
    socket.write(bytes.subarray(at, at + size), () => setImmediate(next, at + size));
  };
  next(0);
}

/** Chooses how a gateway responds to a request for a stream, well or badly. */
export function oneStream({ one, below, rarely }: Random): Behaviour {
  const tokens = 1 + below(900);
  const words = Array.from({ length: below(6) }, (_, nth) =>
    createPiece(one(["a", "é🚀", "\n", `word ${nth}`])),
  );
  const whole = [...words, stopped(), used(tokens), done].join("");
  const lines = rarely(0.2) ? whole.replaceAll("\n", "\r\n") : whole;
  const size = one([1, 7, 100, 5000]);
  const end = (socket: Socket) => () => socket.end();
  const reply = (text: string | Buffer) => (socket: Socket) => void socket.end(text);
  const leak = one([escaped, KEY, KEY.slice(0, 9) + escaped.slice(54)]);

  return one<Behaviour>([
    { name: "well", bill: tokens, isWhole: true, respond: reply(streamHead + lines) },
    {
      name: "well, in pieces",
      bill: tokens,
      isWhole: true,
      respond: (socket) => trickle(socket, streamHead + lines, size, end(socket)),
    },
    {
      name: "with lines that end in CR",
      bill: tokens,
      isWhole: true,
      respond: reply(streamHead + whole.replaceAll("\n", "\r")),
    },
    {
      name: "with a huge line",
      bill: tokens,
      isWhole: true,
      respond: reply(streamHead + createPiece("x".repeat(1_500_000)) + whole),
    },
    {
      name: "with comments between",
      bill: tokens,
      isWhole: true,
      respond: reply(streamHead + lines.replace(/^data/gm, ": alive\n\ndata")),
    },
    {
      name: "without [DONE]",
      bill: tokens,
      isWhole: true,
      respond: reply(streamHead + whole.replace(done, "")),
    },
    {
      name: "with a usage of null",
      bill: "all",
      isWhole: true,
      respond: reply(streamHead + createPiece("a") + stopped() + used(null) + done),
    },
    {
      name: "without usage",
      bill: "all",
      isWhole: true,
      respond: reply(streamHead + createPiece("a") + stopped() + done),
    },
    {
      name: "cut, reset",
      bill: "any",
      respond: (socket) => {
        const text = createPiece("a") + words.join("");
        socket.write(`${chunkedHead}${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`, () =>
          setTimeout(() => socket.resetAndDestroy(), 5),
        );
      },
    },
    { name: "cut, closed", bill: "any", respond: reply(streamHead + createPiece("a") + words.join("")) },
    {
      name: "cut in a line",
      bill: "any",
      respond: reply(streamHead + createPiece("a") + whole.slice(0, 30)),
    },
    { name: "with nothing", bill: "any", respond: reply(streamHead) },
    { name: "by hanging up", bill: "any", respond: reply("") },
    { name: "by a reset", bill: "any", respond: (socket) => void socket.resetAndDestroy() },
    { name: "in no HTTP", bill: "any", respond: reply(Buffer.from(`\u0000\u0001${"\uffff".repeat(50)}`)) },
    { name: "with a page", bill: 0, respond: reply(createResponse(200, "text/html", `<h1>${KEY}</h1>`)) },
    {
      name: "with a page as JSON",
      bill: 0,
      respond: reply(createResponse(200, "application/json", "<h1>Busy</h1>")),
    },
    {
      name: "with broken JSON",
      bill: "any",
      respond: reply(createResponse(200, "application/json", '{"id":"1"')),
    },
    {
      name: "with too short a length",
      bill: "any",
      respond: reply(createResponse(200, "text/event-stream", whole).replace(/Length: \d+/, "Length: 20")),
    },
    {
      name: "with too long a length",
      bill: "any",
      respond: reply(
        createResponse(200, "text/event-stream", createPiece("a")).replace(/Length: \d+/, "Length: 9000"),
      ),
    },
    {
      name: "with a redirect",
      bill: 0,
      respond: reply(createResponse(302, "text/plain", "", `Location: https://a.example/${KEY}\r\n`)),
    },
    {
      name: "with a refusal",
      bill: 0,
      respond: reply(createResponse(one([400, 401, 403, 404, 422, 429]), "application/json", error(leak))),
    },
    {
      name: "with a refusal that is a page",
      bill: 0,
      respond: reply(createResponse(400, "text/html", `<h1>${KEY}`)),
    },
    {
      name: "with a failure",
      bill: "any",
      respond: reply(createResponse(one([500, 502, 503]), "text/html", KEY)),
    },
    {
      name: "with a timeout of its own",
      bill: "any",
      respond: reply(createResponse(one([504, 524]), "text/html", "")),
    },
    {
      name: "with an error at once",
      bill: 0,
      respond: reply(`${streamHead}event: error\ndata: ${error("busy")}\n\n`),
    },
    {
      name: "with the key in an event",
      bill: "any",
      respond: reply(`${streamHead}${words.join("")}data: {"a":"${leak}"}\n\n${whole}`),
    },
    {
      name: "with the key over two events",
      bill: "any",
      respond: (socket) =>
        trickle(
          socket,
          streamHead + createPiece(KEY.slice(0, 12)) + createPiece(KEY.slice(12)) + whole,
          size * 3,
          end(socket),
        ),
    },
    { name: "with the key in a comment", bill: "any", respond: reply(`${streamHead}: ${KEY}\n\n${whole}`) },
    {
      name: "with the key in headers",
      bill: tokens,
      isWhole: true,
      respond: reply(
        streamHead.replace("Connection", `X-Request-Id: ${KEY}\r\nRetry-After: ${KEY}\r\nConnection`) + lines,
      ),
    },
  ]);
}
