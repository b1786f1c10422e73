import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { models } from "../server/models.ts";
import { sign } from "../server/sign-in.ts";

/*
 * Checks the requirements of production, and prints how to meet each: `npm run check:deploy`. With `--before` it skips
 * checks of the deployed app. The exit code is 1 if a requirement is not met.
 */

const FILE = ".env.production.local";
/** A model that the server refuses, so that no request reaches the gateway. */
const MODEL = "not-a-model";
const KEEP_SECRET =
  "Write the deployed one there. To sign all users out instead, deploy with NEW_SESSION_SECRET=yes in the environment.";
const UNREACHED = "Not checked: the app can't be reached.";
const own = readSettings(".env.local");
const {
  APP_URL = "",
  GATEWAY_URL = "",
  GATEWAY_API_KEY = "",
  SESSION_SECRET = "",
  ORIGINS = "",
} = { ...readSettings(FILE), ...process.env };

/** A requirement. Its check returns what to do, or undefined if it is met. */
type Point = readonly [name: string, check: () => string | undefined | Promise<string | undefined>];

const before: readonly Point[] = [
  ["address", () => checkAddress("APP_URL", APP_URL, "the address under which users reach the app")],
  ["gateway", () => checkAddress("GATEWAY_URL", GATEWAY_URL, "the address of your gateway")],
  ["origins", () => checkOrigins([APP_URL, ...ORIGINS.split(" ")].filter((page) => page !== ""))],
  ["gateway's key", checkKey],
  ["sign-in secret", checkSecret],
  ["files with secrets", checkFiles],
  ["price bounds", checkPrices],
];
const after: readonly Point[] = [
  ["health", checkHealth],
  ["sign-in: strangers", checkStrangers],
  ["sign-in: development", checkDevelopment],
  ["sign-in: users", checkUsers],
];

const isBefore = process.argv.includes("--before");
const isReady = await checkAll(before);
const isDone = isReady && (await checkAll(isBefore ? [["deployed secret", checkDeployedSecret]] : after));
if (!isReady) console.log("\nThe deployed app is checked once these points are met.");
console.log(isDone ? "\nAll is set." : "\nNot all is set.");
process.exitCode = isDone ? 0 : 1;

/** Checks a list of requirements one by one, and prints each. */
async function checkAll(points: readonly Point[]): Promise<boolean> {
  let isMet = true;
  for (const [name, check] of points) {
    const problem = await check();
    isMet &&= problem === undefined;
    console.log(problem === undefined ? `ok   ${name}` : `TODO ${name}: ${problem}`);
  }
  return isMet;
}

function readSettings(file: string): NodeJS.Dict<string> {
  try {
    return parseEnv(readFileSync(file, "utf8"));
  } catch {
    return {};
  }
}

function checkAddress(name: string, value: string, meaning: string): string | undefined {
  if (value === "") return `${name} is empty. Write ${meaning} into ${FILE}: https://…`;
  if (!URL.canParse(value) || new URL(value).protocol !== "https:")
    return `${name} is ${value}. Write ${meaning} into ${FILE}; it begins with https://.`;
  if (/(?:^|\.)example\.(?:com|net|org)$/.test(new URL(value).hostname))
    return `${name} is an example's. Write ${meaning} into ${FILE}.`;
  return undefined;
}

function checkOrigins(pages: readonly string[]): string | undefined {
  const wrong = pages.find((page) => !URL.canParse(page) || new URL(page).origin !== page);
  if (wrong !== undefined)
    return `${wrong} is not an origin. Leave out all after the host, the last slash too.`;
  const open = pages.find((page) => !page.startsWith("https:"));
  if (open !== undefined) return `${open} may call the server. In production list only https:// pages.`;
  return pages.length === 0 ? `No page may call the server. Set APP_URL in ${FILE}.` : undefined;
}

function checkKey(): string | undefined {
  if (GATEWAY_API_KEY === "") return `GATEWAY_API_KEY is empty. Write your gateway's key into ${FILE}.`;
  return /^sk-(?:test|sluice)/.test(GATEWAY_API_KEY)
    ? `GATEWAY_API_KEY is the emulator's. Write your gateway's key into ${FILE}.`
    : undefined;
}

function checkSecret(): string | undefined {
  if (SESSION_SECRET.length < 32)
    return `SESSION_SECRET has fewer than 32 characters. Write that of the deployed app into ${FILE}; for an app that was never deployed, the output of openssl rand -base64 32.`;
  return SESSION_SECRET === own["SESSION_SECRET"]
    ? `SESSION_SECRET is the one of development. Write another one into ${FILE}.`
    : undefined;
}

/** Checks that a deploy keeps the secret of the deployed app: a new one would end all sessions and invitations. */
async function checkDeployedSecret(): Promise<string | undefined> {
  if (process.env["NEW_SESSION_SECRET"] === "yes") return undefined;
  const { status } = await request("GET", "/api/health");
  if (status !== 200) return undefined;
  const user = await requestChat(await sign("session", "check-deploy", 60, SESSION_SECRET));
  return user.status === 401
    ? `The app at ${APP_URL} has another SESSION_SECRET than ${FILE}. ${KEEP_SECRET}`
    : undefined;
}

function checkFiles(): string | undefined {
  const open = [".env.local", FILE].find((file) => !isIgnored(file));
  return open && `git does not ignore ${open}. Add it to .gitignore, then git rm --cached ${open}.`;
}

function isIgnored(file: string): boolean {
  try {
    execFileSync("git", ["check-ignore", "--quiet", file], { stdio: ["ignore", "ignore", "pipe"] });
    return true;
  } catch (error) {
    // 1: not ignored; other codes: no git, or no repository
    return (error as { status?: number }).status !== 1;
  }
}

function checkPrices(): string | undefined {
  const open = Object.entries<{ max_tokens?: number }>(models).find(([, caps]) => !caps.max_tokens);
  return open && `${open[0]} has no max_tokens in server/models.ts: one response could cost any amount.`;
}

async function checkHealth(): Promise<string | undefined> {
  const { status, code } = await request("GET", "/api/health");
  if (status === 200) return undefined;
  if (status === 0) return `${APP_URL} can't be reached. Deploy the app first. (${code})`;
  if (status === 404) return `${APP_URL}/api/health is not there. Is APP_URL the address of this app?`;
  if (code === "origin_not_allowed") return `The deployed APP_URL is another one. Deploy again.`;
  return `/api/health responds with ${status} ${code}. The server's log names what is missing.`;
}

async function checkStrangers(): Promise<string | undefined> {
  const [session, chat] = [await request("POST", "/api/session"), await requestChat()];
  if (session.status === 0) return UNREACHED;
  if (session.status === 401 && chat.status === 401) return undefined;
  if (session.status === 200) return "Everybody gets a session. Run the app with NODE_ENV=production.";
  return `Requests without a sign-in get ${session.status} and ${chat.status}, not 401.`;
}

async function checkDevelopment(): Promise<string | undefined> {
  const forged = own["SESSION_SECRET"] ?? "the secret of a development server";
  const { status } = await requestChat(await sign("session", "ada", 60, forged));
  if (status === 0) return UNREACHED;
  return status === 401 ? undefined : `A token of development gets ${status}, not 401.`;
}

async function checkUsers(): Promise<string | undefined> {
  const { status, code } = await requestChat(await sign("session", "check-deploy", 60, SESSION_SECRET));
  // the server knows the user, but refuses the model
  if (code === "model_not_allowed") return undefined;
  if (status === 0) return UNREACHED;
  if (status === 401) return `The deployed SESSION_SECRET is not that of ${FILE}. ${KEEP_SECRET}`;
  return `A signed-in user gets ${status} ${code}. The server's log says why.`;
}

function requestChat(token?: string) {
  return request("POST", "/api/v1/chat/completions", token);
}

async function request(
  method: string,
  path: string,
  token?: string,
): Promise<{ status: number; code: string }> {
  const headers = {
    origin: APP_URL,
    "content-type": "application/json",
    ...(token && { authorization: `Bearer ${token}` }),
  };
  const body = JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Hello" }] });
  try {
    const signal = AbortSignal.timeout(15_000);
    const response = await fetch(APP_URL + path, {
      method,
      headers,
      signal,
      ...(method === "POST" && { body }),
    });
    const json = await response.json().catch(() => undefined);
    return { status: response.status, code: json?.error?.code ?? json?.status ?? "" };
  } catch (error) {
    const { cause = error } = error as Error;
    return { status: 0, code: cause instanceof Error ? cause.message : `${cause}` };
  }
}
