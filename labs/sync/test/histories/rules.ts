import {
  type Browser,
  CHAT,
  getShown,
  getStored,
  LIST,
  type Stored,
  type Tab,
  type Written,
} from "./state.js";
import { SERVER_CHAT } from "./turns.js";

interface HistoryEnd {
  readonly user: string;
  readonly tabs: readonly (readonly [Browser, Tab])[];
  readonly stored: Stored;
  readonly written: Written;
}

type StoredMessage = { readonly parent: string | null; readonly message: { readonly content: string } };

/** Finds problems after a history: a record that is lost, of another user, without its parent, or different. */
export async function findProblems(ended: HistoryEnd): Promise<readonly string[]> {
  const differences = await Promise.all(
    ended.tabs.map(([browser, tab]) => findDifferences(ended, browser, tab)),
  );
  return [...findForeignRecords(ended), ...findLosses(ended), ...findHoles(ended), ...differences.flat()];
}

/** Nothing of another user has crossed. */
function findForeignRecords({ user, stored }: HistoryEnd): string[] {
  const keys = [CHAT, LIST].flatMap((collection) => [...getStored(stored, collection).keys()]);
  return keys.filter((key) => !key.startsWith(user)).map((key) => `${user}'s account has ${key}`);
}

/** Nothing that was written is lost, unless it was removed, refused or forgotten by a sign-out. */
function findLosses(ended: HistoryEnd): string[] {
  const { user, stored, written } = ended;
  const chat = getStored(stored, CHAT);
  return written.messages
    .filter((each) => each.user === user && !chat.has(each.key))
    .map(({ key }) => [key, `${user} ${CHAT} ${key}`] as const)
    .filter(([, name]) => !written.removed.has(name) && !written.uncertain.has(name))
    .filter(([key]) => !ended.tabs.some(([, tab]) => isBelowUnsent(key, getShown(tab, CHAT), chat)))
    .map(([key]) => `${user} lost ${key}`);
}

/** Returns true for a message that waits for a refused or unfinished one, on a device that has it. */
function isBelowUnsent(
  key: string,
  local: ReadonlyMap<string, unknown>,
  chat: ReadonlyMap<string, unknown>,
  isTooLargeIncluded = true,
): boolean {
  for (let at: string | null = key; at !== null; ) {
    const value = local.get(at) as StoredMessage | undefined;
    if (!value) return false;
    if (isOpenResponse(value) && !chat.has(at)) return true;
    if (isTooLargeIncluded && isTooLarge(value)) return true;
    at = value.parent;
  }
  return false;
}

/** No message is on the server without its parent, unless a user has removed the parent. */
function findHoles({ user, stored, written }: HistoryEnd): string[] {
  const { removed, uncertain, wasRestored } = written;
  return [CHAT, SERVER_CHAT].flatMap((collection) => {
    const records = getStored(stored, collection);
    return [...records].flatMap(([key, value]) => {
      const { parent } = value as StoredMessage;
      const name = `${user} ${collection} ${parent}`;
      if (parent === null || records.has(parent) || removed.has(name)) return [];
      return wasRestored && uncertain.has(name) ? [] : [`${user}: ${key} has no parent ${parent}`];
    });
  });
}

/** Checks that every tab shows the records of the server, and the right status. */
async function findDifferences({ user, stored }: HistoryEnd, { name }: Browser, tab: Tab): Promise<string[]> {
  const found: string[] = [];
  const chat = getStored(stored, CHAT);
  const local = await tab.storage.read(`${JSON.stringify(user)}/${CHAT}`);
  let unsent = 0;
  let hasRefusal = false;
  for (const [key, value] of local) {
    if (chat.has(key) || isOpenResponse(value)) continue;
    if (isTooLarge(value)) hasRefusal ||= !isBelowUnsent(key, local, chat, false);
    else if (!isBelowUnsent(key, local, chat)) found.push(`${name}: ${key} is only here`);
    unsent += 1;
  }
  for (const [key, value] of chat) {
    const own = local.get(key);
    if (!isEqual(own, value) && !isOpenResponse(value))
      found.push(`${name}: ${key} is ${JSON.stringify(own)}, at the server ${JSON.stringify(value)}`);
  }
  for (const collection of [LIST, SERVER_CHAT]) {
    const [shown, records] = [getShown(tab, collection), getStored(stored, collection)];
    for (const [key, value] of records)
      if (!isEqual(shown.get(key), value))
        found.push(
          `${name}: shows ${JSON.stringify(shown.get(key))}, the server has ${key} ${JSON.stringify(value)}`,
        );
    for (const key of shown.keys()) if (!records.has(key)) found.push(`${name}: ${key} is only here`);
  }
  for (const key of [CHAT, LIST].flatMap((collection) => [...getShown(tab, collection).keys()]))
    if (!key.startsWith(user)) found.push(`${name}: ${user} sees ${key}`);
  const status = tab.storage.status.getSnapshot();
  const expected = hasRefusal ? "error" : unsent > 0 ? "saving" : "saved";
  if (status.status !== expected || status.pending !== unsent)
    found.push(`${name}: ${user} status ${JSON.stringify(status)}, ${unsent} unsent`);
  return found;
}

function isTooLarge(value: unknown): boolean {
  const { message } = value as StoredMessage;
  return message.content.length > 1_000_000;
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Returns true for a response that a page still reads. */
export function isOpenResponse(value: unknown): boolean {
  const { message, turn } = value as { message: { role: string; outcome?: string }; turn?: string };
  return message.role === "assistant" && message.outcome === undefined && turn === undefined;
}
