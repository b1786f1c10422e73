import { listReachable, SECRET, type Simulation, STRANGER } from "./simulation.js";
import type { Tab } from "./tab.js";

/* Rules about stored data and its user. Each rule returns a description if it is broken. */

/** Words of the first user, which the other user never writes. */
const FIRST_USERS = /(?:question|aside|video) \d/;

/** A page that closes has tried to store every message that it showed. */
export function findLostOnLeaving({ disk }: Simulation, tab: Tab): string | undefined {
  if (tab.tree) return undefined;
  const lost = tab.chat.getSnapshot().messages.find(({ id, content }) => {
    const sent = disk.sent.get(id);
    return sent && !sent.has(content) && !disk.corrupted.has(id);
  });
  return lost && `tab ${tab.page.id}: "${lost.content}" was shown, and not written before the page closed`;
}

/** Two users of one browser share no message, video, record or lock. */
export function keepsUsersApart({ tabs, stranger, disk, locks }: Simulation): string | undefined {
  if (!stranger) return undefined;
  const own = stranger.page;
  for (const tab of tabs) {
    const leaked = listTexts(tab).find((text) => text.includes(SECRET));
    if (leaked !== undefined) return `tab ${tab.page.id} shows "${leaked}" of another user`;
    const lock = locks.listNames(tab.page).find((name) => locks.listNames(own).includes(name));
    if (lock !== undefined) return `two users share the lock ${lock}`;
  }
  const foreign = listTexts(stranger).find((text) => FIRST_USERS.test(text));
  if (foreign !== undefined) return `another user is shown "${foreign}"`;
  for (const name of disk.names()) {
    const isOwn = name.startsWith(JSON.stringify(STRANGER));
    for (const text of disk.readTexts(name).values())
      if (isOwn ? FIRST_USERS.test(text) : text.includes(SECRET))
        return `the collection ${name} has a record of another user: ${text.slice(0, 120)}`;
  }
  return undefined;
}

/** No data remains of a user who has signed out, if the storage was writable. */
export function forgetsAll({ disk, isForgotten }: Simulation): string | undefined {
  if (!isForgotten || [...disk.modes].some((mode) => mode !== "well")) return undefined;
  const left = disk.names().find((name) => name.includes(STRANGER) && disk.readTexts(name).size > 0);
  return left && `a user has signed out, and ${left} still has records: ${[...disk.readTexts(left).keys()]}`;
}

function listTexts({ chat, list, page }: Tab): readonly string[] {
  const { messages, queued } = chat.getSnapshot();
  const labels = page.run(() => list.getSnapshot()).flatMap(({ label }) => label ?? []);
  return [
    ...messages.map(({ content }) => content),
    ...queued.map(({ content }) => content),
    ...labels,
  ].filter((text) => text !== "");
}

/** Cleared messages that were removed from the disk are in no tab. */
export function keepsCleared({ cleared, tabs, disk, locks }: Simulation): string | undefined {
  if (locks.mode !== "sound" || disk.corrupted.size > 0) return undefined;
  const gone = [...cleared].filter((id) => disk.removed.has(id));
  const stored = disk.readTexts("chat/a");
  if (gone.some((id) => stored.has(id))) return "a message that was cleared is on the disk again";
  for (const tab of tabs) {
    const messages = listReachable(tab);
    if (gone.some((id) => messages.has(id)))
      return `tab ${tab.page.id}: a message that was cleared is shown again`;
  }
  return undefined;
}

/** A message that does not fit on an almost full disk does not block other messages. */
export function storesWhatFits({ tabs, disk }: Simulation): string | undefined {
  const stored = disk.readTexts("chat/a");
  for (const tab of tabs)
    for (const { id, role, content } of listReachable(tab).values())
      if (role === "user" && content.length < 500 && !stored.has(id))
        return `"${content}" fits on the disk, and is not there`;
  return undefined;
}
