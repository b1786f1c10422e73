import { createClient } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import { type Assumption, assumptions } from "@sluice/emulator/assumptions";
import { type ChatRun, runChats } from "./chats.js";
import { chatChecks } from "./check-chats.js";
import { connectionChecks, hasPath, isIndistinct, isKeyRefused, isRedirected } from "./check-connection.js";
import { mediaChecks } from "./check-media.js";
import { workerChecks } from "./check-worker.js";
import { type Check, type Evidence, type Finding, type ServerKind, skip } from "./findings.js";
import { type MediaRun, runImage, runVideo } from "./media.js";
import { type Exchanges, emptyMedia, freeProbes, listWorkerProbes, type ProbeName } from "./probes.js";
import {
  BASE_URL,
  createSender,
  type Exchange,
  NO_EXCHANGE,
  type Sender,
  type SenderOptions,
} from "./send.js";

type Rows = typeof assumptions;
type AssumptionName = keyof Rows;
/** Name of an assumption that requests can check. */
type CheckedAssumption = {
  [Name in AssumptionName]: Rows[Name] extends { check: "use" } ? never : Name;
}[AssumptionName];

/** What {@link diagnose} may send, and where. */
export interface Plan {
  /** Base URL without a slash at its end. */
  readonly address: string;
  readonly key: string | undefined;
  /** Models to chat with. Each costs up to 200 tokens. */
  readonly chats: readonly string[];
  readonly images: readonly string[];
  readonly videos: readonly string[];
  /** The user's own pages. */
  readonly origins: readonly string[];
  /** The emulator behind a Worker, whose journal shows an abort. */
  readonly behind: { readonly address: string; readonly key: string | undefined } | undefined;
}

/** The platform of {@link diagnose}. */
export interface DiagnoseOptions extends Omit<SenderOptions, "address" | "key"> {
  /** Tells the user about a task that is paid for. */
  readonly print: (text: string) => void;
}

/** A row of the report: an assumption and its result. */
export interface Row extends Finding, Pick<Assumption, "group" | "text" | "remedy"> {
  readonly name: AssumptionName;
  readonly check: Assumption["check"];
}

/** Report about one address. */
export interface Report {
  readonly address: string;
  readonly kind: ServerKind;
  /** Why nothing could be checked. Undefined if the server responds. */
  readonly failure: string | undefined;
  readonly rows: readonly Row[];
  /** Settings of `createClient` that fit the server. */
  readonly settings: ReturnType<typeof chooseSettings>;
  /** Words of the header `x-sluice-features`, which names what a proxy stores. */
  readonly features: string | undefined;
  /** Number of requests that were sent. */
  readonly requests: number;
  /** Tokens of all chats. */
  readonly tokens: number;
}

const checks: Readonly<Record<CheckedAssumption, Check>> = {
  ...connectionChecks,
  ...chatChecks,
  ...mediaChecks,
  ...workerChecks,
};

/** Checks all assumptions at one address. Returns the report, and the sender. */
export async function diagnose(plan: Plan, options: DiagnoseOptions): Promise<[Report, Sender]> {
  const { address, key, origins } = plan;
  const sender = createSender({ address, key, ...options });
  const exchanges: Partial<Record<ProbeName, Exchange>> = {};
  const chats: ChatRun[] = [];
  const media: MediaRun[] = [];
  let sawAbort: boolean | undefined;
  let kind: ServerKind = "nothing";
  for (const [name, probe] of Object.entries(freeProbes)) {
    const isSkipped = exchanges.chat?.status === 200 && emptyMedia.includes(name);
    exchanges[name as ProbeName] = isSkipped ? NOT_SENT : await sender.send(probe);
    // a host that does not respond to the first two requests is given up
    const { root, health } = exchanges;
    if (root?.status === undefined && health && health.status === undefined)
      return [createReport(health.failure ?? "no response"), sender];
  }
  kind = identifyServer(exchanges as Exchanges);
  if (kind === "worker")
    for (const [name, probe] of listWorkerProbes(origins)) exchanges[name] = await sender.send(probe);

  const client = createClient({
    baseURL: BASE_URL,
    ...(key !== undefined && { apiKey: key }),
    idempotencyKeys: false,
    retry: { limit: 0 },
    timeout: CHAT_LIMITS,
    fetch: sender.fetch,
    onEvent: () => {},
  });
  const evidence = { exchanges: exchanges as Exchanges };
  const isAPI = kind !== "page" && kind !== "foreign";
  const canPay = isAPI && !isKeyRefused(evidence) && !isRedirected(evidence);
  const abortsBefore = await countAborts(plan, options);
  if (canPay) {
    for (const [index, model] of plan.chats.entries()) {
      const testsAbort = plan.behind !== undefined && index === 0;
      chats.push(await runChats(client, sender, model, { signal: options.signal, testsAbort }));
    }
    for (const model of plan.images) media.push(await runImage(sender, model, options.fetch));
    for (const model of plan.videos) media.push(await runVideo(sender, model, options));
  }
  if (abortsBefore !== undefined && chats.some(({ isAborted }) => isAborted))
    sawAbort = await waitForMoreAborts(abortsBefore, plan, options);
  return [createReport(undefined), sender];

  function createReport(failure: string | undefined): Report {
    const evidence = {
      kind,
      hasKey: key !== undefined,
      origins,
      exchanges: exchanges as Exchanges,
      chats,
      media,
      sawAbort,
    };
    const rows = failure === undefined ? listRows(evidence, plan) : [];
    return {
      address,
      kind,
      failure,
      rows: rows.map((row) => ({ ...row, found: sender.redact(row.found) })),
      settings: chooseSettings(plan, exchanges, rows),
      features: exchanges.chat?.headers.get("x-sluice-features") ?? undefined,
      requests: sender.count(),
      tokens: chats.reduce((sum, { tokens }) => sum + tokens, 0),
    };
  }
}

/** Limits of time for a chat, whose response is short. */
const CHAT_LIMITS = { firstChunkMs: 60_000, chunkMs: 30_000, totalMs: 120_000 };

const NOT_SENT = { ...NO_EXCHANGE, failure: "not sent: the server responds to empty requests" };

/** Names the kind of a server by its responses. */
function identifyServer(exchanges: Exchanges): ServerKind {
  const { root, chat, chatNoKey } = exchanges;
  if ([chat, chatNoKey].some(({ headers }) => headers.has("x-sluice-source"))) return "worker";
  if (isRecord(root.json) && root.json["name"] === "Sluice emulator") return "emulator";
  if (!isRecord(chat.json) && !isRecord(chatNoKey.json)) return "page";
  if (isKeyRefused({ exchanges })) return "closed";
  if (isIndistinct(exchanges, "chat")) return "indistinct";
  if (hasPath(exchanges, "video")) return "gateway";
  return hasPath(exchanges, "chat") || hasPath(exchanges, "image") ? "openai" : "foreign";
}

function listRows(evidence: Evidence, plan: Plan): Row[] {
  return Object.entries(assumptions).flatMap(([key, { group, text, remedy, check }]): Row[] => {
    const name = key as AssumptionName;
    if (group === "Worker" && evidence.kind !== "worker") return [];
    return [{ name, group, text, remedy, check, ...checkAssumption(name, evidence, plan) }];
  });
}

/** Checks an assumption, or says why it is not checked. */
function checkAssumption(name: AssumptionName, evidence: Evidence, plan: Plan): Finding {
  const { check } = assumptions[name];
  if (check === "use") return skip(ONLY_USE);
  if (isRedirected(evidence) && name !== "no-redirect") return skip("the address redirects");
  if (!isPaidFor(check, plan)) return skip(`${NEEDS}${SPENDING[check]}`);
  return checks[name as CheckedAssumption](evidence);
}

/** Reason of a row that no request can check. */
export const ONLY_USE = "only use shows it";
/** Prefix of the reason of a row whose requests the user did not allow. */
export const NEEDS = "it needs ";

/** Option that allows the requests of a check. */
const SPENDING = {
  free: "",
  chat: "--spend chat",
  image: "--spend <image model>",
  video: "--spend <video model>",
} as const;

function isPaidFor(check: keyof typeof SPENDING, { chats, images, videos }: Plan): boolean {
  // the checks of `image` include the file of a result, which a video also has
  const models = { free: undefined, chat: chats, image: [...images, ...videos], video: videos }[check];
  return models === undefined || models.length > 0;
}

/** Chooses the settings that follow from the rows of the report. */
function chooseSettings({ address, origins }: Plan, exchanges: Partial<Exchanges>, rows: readonly Row[]) {
  const getVerdict = (assumption: AssumptionName) => rows.find(({ name }) => name === assumption)?.verdict;
  const usage = getVerdict("usage-option");
  const gateway = {
    ...(usage === "differs" && { includeUsage: false }),
    ...(usage === "holds" && getVerdict("usage-reported") === "holds" && { includeUsage: true }),
    ...(getVerdict("asset-lookup") === "holds" && { assetLookup: "/gamma/asset/GetAsset" }),
  };
  const refusesKeys = origins.some((origin) => {
    const headers = exchanges[`preflight ${origin}`]?.headers;
    const isAllowed = headers?.get("access-control-allow-origin") === origin;
    return isAllowed && !/idempotency-key|\*/i.test(headers?.get("access-control-allow-headers") ?? "");
  });
  return {
    baseURL: address,
    ...(Object.keys(gateway).length > 0 && { gateway }),
    ...(getVerdict("invalid-request") === "differs" && { retry: { limit: 0 } }),
    ...(refusesKeys && { idempotencyKeys: false }),
  };
}

const POLLS = 20;
const POLL_MS = 250;

/** Waits up to 5 s until the emulator behind a Worker has seen one more abort. */
async function waitForMoreAborts(before: number, plan: Plan, options: DiagnoseOptions): Promise<boolean> {
  for (let attempt = 0; attempt < POLLS; attempt++) {
    if (((await countAborts(plan, options)) ?? 0) > before) return true;
    await options.clock.sleep(POLL_MS, options.signal);
  }
  return false;
}

/** Counts the aborted requests in the journal of the emulator behind a Worker. Undefined without an emulator. */
async function countAborts(
  { behind }: Plan,
  { fetch, signal }: DiagnoseOptions,
): Promise<number | undefined> {
  if (!behind) return undefined;
  const headers = behind.key === undefined ? {} : { authorization: `Bearer ${behind.key}` };
  try {
    const response = await fetch(new Request(`${behind.address}/journal`, { headers, signal }));
    const journal: unknown = await response.json();
    if (!isRecord(journal) || !Array.isArray(journal["requests"])) return undefined;
    return journal["requests"].filter((request) => isRecord(request) && request["aborted"] === true).length;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
