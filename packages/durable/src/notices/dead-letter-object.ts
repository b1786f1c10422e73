import type { JobEvent } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/internal";
import {
  type DurableObjectHandlers,
  type ObjectNamespace,
  type ObjectState,
  objectNamed,
} from "../objects/object.js";
import { type KeptLetter, openDeadLetterRows, type PlacedLetter } from "./dead-letter-rows.js";

/** A request to the object of the dead letters. */
export type LettersRequest =
  | { readonly do: "keep"; readonly letter: KeptLetter }
  | { readonly do: "list"; readonly after: number }
  | { readonly do: "resend"; readonly id: string }
  | { readonly do: "resendAll"; readonly since: number }
  | { readonly do: "removeUser"; readonly user: string };

/** Hosts of the requests to the object of the dead letters, and to one that has to send a notice again. */
const LETTERS = "https://dead-letters.invalid/";
const RESEND = "https://resend.invalid/";
/** Letters in one part of a list, and those that are sent again in one step. */
const LISTED = 100;
const RESENT = 50;
const STEP_MS = 1000;

/** Asks the one object of a namespace that has its dead letters. */
export async function askLetters(namespace: ObjectNamespace, request: LettersRequest): Promise<unknown> {
  const object = objectNamed(namespace, "dead letters");
  const answer = await object.fetch(new Request(LETTERS, { method: "POST", body: JSON.stringify(request) }));
  if (!answer.ok) throw new Error(`the dead letters answered with ${answer.status}`);
  return await answer.json();
}

/** Returns the id of the letter that a request to an object wants to be sent again. */
export async function resentLetter(request: Request): Promise<string | undefined> {
  return request.url === RESEND ? await request.text() : undefined;
}

/** Keeps a letter. It is safe to repeat. */
export async function keepLetter(namespace: ObjectNamespace, letter: KeptLetter): Promise<void> {
  await askLetters(namespace, { do: "keep", letter });
}

/** The parts of the object that its class decides. */
interface LettersParts {
  readonly namespace: () => ObjectNamespace | undefined;
  /** Reports a letter that makes room for a newer one. */
  report(event: JobEvent): void;
}

/** Lets one object of a class keep the dead letters of the namespace. Requests to it have another host. */
export function withDeadLetters(
  object: DurableObjectHandlers,
  { storage }: ObjectState,
  { namespace, report }: LettersParts,
): DurableObjectHandlers {
  const { sql } = storage;
  const rows = openDeadLetterRows({ sql, deleteAll: () => storage.deleteAll() });
  /** Undefined until it is known. */
  let hasLetters: boolean | undefined;
  return {
    async fetch(request) {
      if (request.url !== LETTERS) return object.fetch(request);
      hasLetters = undefined;
      const result = await enter(await request.json());
      if (rows.exist()) await setAlarm();
      return Response.json(result ?? null);
    },
    async alarm() {
      hasLetters ??= rows.exist();
      if (!hasLetters) return object.alarm();
      await resendNext();
      rows.removeOld(Date.now());
      await setAlarm();
    },
  };

  async function enter(request: LettersRequest): Promise<unknown> {
    if (request.do === "keep") for (const letter of rows.keep(request.letter)) drop(letter);
    if (request.do === "list") return listAfter(request.after);
    if (request.do === "resend") {
      const letter = rows.find(request.id);
      return letter !== undefined && (await resend(letter));
    }
    if (request.do === "resendAll") rows.plan(request.since);
    if (request.do === "removeUser") rows.removeUser(request.user);
    return undefined;
  }

  /** Reports a letter that makes room for a newer one. */
  function drop({ id, user, taskId, model, requestId, attempts }: PlacedLetter): void {
    const code = "dead_letters_full";
    logError(`deadLetters: ${id} makes room for a newer one, and can't be sent again`);
    report({ kind: "webhook", id, outcome: "dropped", code, user, taskId, model, requestId, attempts });
  }

  function listAfter(after: number) {
    const all = rows.list(after, LISTED);
    const letters = all.map(({ place: _, object: __, ...letter }) => letter);
    return { letters, ...(all.length === LISTED && { cursor: String(all.at(-1)?.place) }) };
  }

  /** Has a notice sent again. The letter goes after that: what is on its way is not begun twice. */
  async function resend({ id, place, object: name }: PlacedLetter): Promise<boolean> {
    const given = namespace();
    if (!given) throw new Error("the binding is missing");
    const { status } = await objectNamed(given, name).fetch(
      new Request(RESEND, { method: "POST", body: id }),
    );
    if (status !== 204 && status !== 404) throw new Error(`it answered with ${status}`);
    // by its place: it may have been given up again meanwhile, which is another letter
    rows.remove(place);
    return status === 204;
  }

  async function resendNext(): Promise<void> {
    const { first, last } = rows.next();
    if (first > last) return;
    const due = rows.list(first - 1, RESENT, last);
    await Promise.all(
      due.map((letter) =>
        resend(letter).catch(() => logError(`deadLetters: ${letter.id} could not be sent again; it stays`)),
      ),
    );
    rows.planned(due.length < RESENT ? last : (due.at(-1)?.place ?? last));
  }

  async function setAlarm(): Promise<void> {
    const { first, last, endsAt } = rows.next();
    const at = first <= last ? Date.now() + STEP_MS : endsAt && Math.max(endsAt, Date.now());
    const known = await storage.getAlarm();
    // an earlier one stays: letters that come all the time must not put it off
    if (at !== undefined && (known === null || at < known)) await storage.setAlarm(at);
    else if (at === undefined && known !== null) await storage.deleteAlarm();
  }
}
