import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, createClient } from "@sluice/core";
import { describeThrown, systemClock } from "@sluice/core/extend";
import { models } from "@sluice/core/schemas";
import { writeRecording } from "@sluice/emulator/recordings";
import { estimateCost, type Prices } from "@sluice/prices";
import { wrap } from "../base/wrap.js";
import { canCallTools, draftChats, MAX_TOKENS } from "../doctor/chats.js";
import { diagnose, type Plan, type Report } from "../doctor/diagnose.js";
import { formatPage, formatReport } from "../doctor/format.js";
import { draftMedia, findKind } from "../doctor/media.js";
import { freeProbes, listWorkerProbes } from "../doctor/probes.js";
import type { Probe, Sender } from "../doctor/send.js";
import type { Arguments } from "./arguments.js";
import { type Environment, UsageError } from "./connect.js";
import { formatJSON, type Task } from "./task.js";
import type { Output } from "./terminal.js";

/** Streams and environment of {@link runDoctor}. */
export interface DoctorTask extends Pick<Task, "args" | "signal" | "err"> {
  readonly out: Output;
  readonly env: Environment;
  /** Replacements for tests. */
  readonly client?: { readonly fetch?: unknown; readonly clock?: Clock | undefined };
}

/** Checks an address. Returns the exit code: 1 if an assumption does not hold or nothing responds. */
export async function runDoctor({ args, env, out, err, signal, client = {} }: DoctorTask): Promise<number> {
  const plan = readPlan(args, env);
  const charges = listCharges(plan, args.prices);
  const width = out.columns ?? 80;
  if (args["dry-run"]) {
    out.write(formatRequests(plan, charges));
    return 0;
  }
  const { write } = args;
  if (write !== undefined) checkEmpty(write);
  for (const line of charges) err.write(`${line}\n`);
  const fetch = (client.fetch ??
    ((request: Request) => globalThis.fetch(request))) as typeof globalThis.fetch;
  const [report, sender] = await diagnose(plan, {
    fetch: (request) => fetch(request),
    clock: client.clock ?? systemClock,
    signal,
    print: (text) => void err.write(`${text}\n`),
    save:
      write === undefined ? undefined : (recording) => writeRecording(join(write, "recordings"), recording),
  }).catch((error) => {
    if (signal.aborted && charges.length > 0) err.write("What was sent until now may be charged.\n");
    if (write !== undefined) err.write(`${write} has the recordings until now.\n`);
    throw error;
  });
  out.write(sender.redact(args.json ? formatJSON(report) : formatReport(report, width)));
  if (write !== undefined) {
    writeReport(write, report, sender);
    err.write(`${wrap(`Written to ${write}: report.md, report.json, recordings.`, width).join("\n")}\n`);
  }
  return report.failure !== undefined || report.rows.some(({ verdict }) => verdict === "differs") ? 1 : 0;
}

function readPlan(args: Arguments, env: Environment): Plan {
  const { words, spend = [], origin: origins = [], behind, model } = args;
  const { GATEWAY_API_KEY: gatewayKey, PROXY_TOKEN: token } = env;
  const address = words[0] ?? args["base-url"] ?? env.GATEWAY_URL;
  if (words.length > 1) throw new UsageError("Give one address: sluice doctor https://gateway.example.com");
  if (!address)
    throw new UsageError("Which server? Give its address: sluice doctor https://gateway.example.com");
  if (gatewayKey && token && !behind)
    throw new UsageError("Set GATEWAY_API_KEY for a gateway, or PROXY_TOKEN for a proxy, not both.");
  const spendsChat = spend.includes("chat");
  const mediaModels = spend.filter((name) => name !== "chat");
  for (const name of mediaModels)
    if (findKind(name) === undefined || findKind(name) === "chat")
      throw new UsageError(
        `--spend ${name}: give chat, or the id of an image or video model${findKind(name) ? "; --model names a chat model" : ""}.`,
      );
  const chatModels = Object.values(models).flatMap((row) => (row.kind === "chat" ? row.id : []));
  if (model !== undefined && !spendsChat) throw new UsageError("--model needs --spend chat.");
  // with `--behind`, GATEWAY_API_KEY is the key of the emulator
  const key = token || (behind === undefined && gatewayKey) || undefined;
  for (const url of [...origins, ...(behind === undefined ? [] : [behind])])
    if (!URL.canParse(url)) throw new UsageError(`${url} is not an address: write https://app.example.com`);
  return {
    address: normalizeAddress(address, key),
    key,
    chats: !spendsChat ? [] : model === undefined ? chatModels : [model],
    images: mediaModels.filter((name) => findKind(name) === "image"),
    videos: mediaModels.filter((name) => findKind(name) === "video"),
    origins,
    behind: behind === undefined ? undefined : { address: behind.replace(/\/+$/, ""), key: gatewayKey },
  };
}

/** Normalizes an address as `createClient` does, which also checks the key. No message contains the key. */
function normalizeAddress(address: string, key: string | undefined): string {
  try {
    const { baseURL } = createClient({ baseURL: address, ...(key !== undefined && { apiKey: key }) });
    return new URL(baseURL).href.replace(/\/$/, "");
  } catch (error) {
    if (describeThrown(error).startsWith("apiKey")) throw error;
    throw new UsageError(`${address} is not the address of a server: write https://gateway.example.com`);
  }
}

/** Describes what may be charged, before anything is sent. */
function listCharges({ chats, images, videos }: Plan, path: string | undefined): string[] {
  const lines = chats.map((model) => `May be charged: up to ${MAX_TOKENS} tokens of ${model}`);
  const media = [...images, ...videos];
  if (media.length === 0) return lines;
  if (path === undefined)
    throw new UsageError(
      `--spend ${media[0]} needs your prices: --prices prices.json, a table of @sluice/prices.`,
    );
  const prices = readPrices(path);
  return [
    ...lines,
    ...media.map((model) => {
      const { amount, currency, missing } = estimateCost(draftMedia(model), prices);
      if (missing.length > 0) throw new UsageError(`${path} has no price of ${model} for this request.`);
      const product = images.includes(model) ? "1 image" : "1 video";
      return `May be charged: ${product} of ${model}, ${amount} ${currency}`;
    }),
  ];
}

function readPrices(path: string): Prices {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(`--prices ${path}: ${describeThrown(error)}`);
  }
}

/** Formats the requests of a plan for `--dry-run`. `charges` are the lines of {@link listCharges}. */
function formatRequests(
  { address, key: ownKey, chats, images, videos, origins }: Plan,
  charges: readonly string[],
): string {
  const format = ({ method, path, key, headers, body, isForm }: Probe) => {
    const credentials = {
      own: ownKey === undefined ? "no key" : "your key",
      none: "no key",
      wrong: "a wrong key",
    }[key];
    const origin = headers?.["origin"] ? `, from ${headers["origin"]}` : "";
    const json = body ? `${isForm ? ", as a form" : ""}  ${JSON.stringify(body)}` : "";
    return `${method.padEnd(7)}  ${address}${path}\n         ${credentials}${origin}${json}\n`;
  };
  const post = (path: string, body: object) => format({ method: "POST", path, key: "own", body });
  const free = Object.values(freeProbes).map(format);
  const paid = [
    ...chats.flatMap((model) =>
      Object.entries(draftChats(model))
        .filter(([name]) => name !== "tool" || canCallTools(model))
        .map(([name, { request, additions }]) =>
          post("/v1/chat/completions", {
            ...request,
            ...additions,
            ...(name !== "whole" && { stream: true }),
          }),
        ),
    ),
    ...images.map((model) => post("/v1/images/generations", draftMedia(model))),
    ...videos.map((model) => post("/v1/video/generations", draftMedia(model))),
  ];
  const toWorker = listWorkerProbes(origins).map(([, probe]) => format(probe));
  const charged = paid.length > 0 ? `\n${charges.join("\n")}\n${paid.join("")}` : "";
  return `Nothing was sent. Never charged:
${free.join("")}
Only to a Worker, and never charged:
${toWorker.join("")}${charged}`;
}

/** Refuses a folder with files: the emulator would replay older recordings first. */
function checkEmpty(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    if (readdirSync(folder).length === 0) return;
  } catch (error) {
    throw new UsageError(`--write ${folder}: ${describeThrown(error)}`);
  }
  throw new UsageError(`--write ${folder}: the folder has files. Give an empty or new one.`);
}

function writeReport(folder: string, report: Report, { redact }: Sender): void {
  writeFileSync(join(folder, "report.md"), redact(formatPage(report, new Date().toISOString().slice(0, 10))));
  writeFileSync(join(folder, "report.json"), redact(`${JSON.stringify(report, null, 2)}\n`));
}
