import { checkImageRequest, checkVideoRequest, videoModelOf } from "@sluice/core/schemas";
import { isPicture } from "../asked.js";
import { turnRefusal } from "../refusals.js";
import type { ScheduleRequest, ScheduleTime, ScheduleWork } from "./shape.js";
import { isTimeOfDay, isTimeZone } from "./times.js";

/** Most of a schedule as JSON, in characters. */
const MOST_CHARACTERS = 65_536;
const TITLE_CHARACTERS = 100;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads a schedule that was asked for. Nothing is checked against the clock: the same one may come again, later.
 *
 * @throws {Refusal} 400 that names the field
 */
export function askedSchedule(body: Fields = {}): ScheduleRequest {
  const { title } = body;
  const id = scheduleIdIn(body["id"]);
  if (title !== undefined && (typeof title !== "string" || title.length > TITLE_CHARACTERS))
    throw wrong(`title: send up to ${TITLE_CHARACTERS} characters`);
  const asked = { id, ...(title !== undefined && { title }), ...workIn(body), ...timeIn(body) };
  if (JSON.stringify(asked).length > MOST_CHARACTERS)
    throw wrong(`message: a schedule has at most ${MOST_CHARACTERS} characters; send images as links`);
  return asked as ScheduleRequest;
}

/** @throws {Refusal} 400 */
export function scheduleIdIn(id: unknown, name = "id"): string {
  if (typeof id !== "string" || !/^[\w-]{1,64}$/.test(id))
    throw wrong(`${name}: send 1 to 64 letters, digits, _ and -`);
  return id;
}

function workIn(body: Fields): ScheduleWork {
  const kinds = ["message", "image", "video"].filter((kind) => body[kind] !== undefined);
  const [kind = ""] = kinds;
  if (kinds.length !== 1) throw wrong("message: send one of message, image and video");
  if (kind === "message") return { message: messageIn(fieldsIn(kind, body[kind])) };
  return { [kind]: madeIn(kind as "image" | "video", fieldsIn(kind, body[kind])) } as unknown as ScheduleWork;
}

function messageIn({ content, images }: Fields) {
  if (typeof content !== "string") throw wrong("message.content: send text");
  const areImages = Array.isArray(images) && images.every(isPicture);
  if (images !== undefined && !areImages)
    throw wrong("message.images: send http(s) URLs or data URLs of images");
  const hasImages = areImages && images.length > 0;
  if (content.trim() === "" && !hasImages) throw wrong("message.content: must be text that is not empty");
  return { content, ...(hasImages && { images: images as readonly string[] }) };
}

/** Reads an image or a video, and checks its request as it will be sent. */
function madeIn(kind: "image" | "video", { model, prompt, params = {} }: Fields): object {
  if (typeof model !== "string") throw wrong(`${kind}.model: send the model that makes it`);
  if (typeof prompt !== "string" || prompt.trim() === "")
    throw wrong(`${kind}.prompt: must be text that is not empty`);
  const given = fieldsIn(`${kind}.params`, params);
  const { issues } =
    kind === "image" ? checkImageRequest({ ...given, model, prompt }) : ofVideo(model, prompt, given);
  const [issue] = issues;
  if (issue) throw wrong(`${kind}: ${issue.path}: ${issue.message}`);
  return { model, prompt, ...(Object.keys(given).length > 0 && { params: given }) };
}

function ofVideo(model: string, prompt: string, params: Fields) {
  const isBeta = videoModelOf(model)?.family === "beta";
  return checkVideoRequest(
    isBeta
      ? { model, input: { prompt }, parameters: params }
      : { ...params, model, content: [{ type: "text", text: prompt }] },
  );
}

function timeIn({ at, time, timeZone, days }: Fields): ScheduleTime {
  if ((at === undefined) === (time === undefined)) throw wrong("at: send one of at and time");
  if (at !== undefined) {
    if (!Number.isSafeInteger(at)) throw wrong("at: send Unix milliseconds");
    if (timeZone !== undefined || days !== undefined) throw wrong("time: timeZone and days need it");
    return { at: at as number };
  }
  if (!isTimeOfDay(time)) throw wrong('time: send a time of day, "08:00"');
  if (!isTimeZone(timeZone)) throw wrong('timeZone: send the name of a zone, "Europe/Berlin"');
  if (days === undefined) return { time, timeZone };
  const areDays =
    Array.isArray(days) &&
    days.length > 0 &&
    days.every((day) => Number.isInteger(day) && day >= 1 && day <= 7);
  if (!areDays) throw wrong("days: send numbers from 1 for Monday to 7 for Sunday");
  return { time, timeZone, days: [...new Set(days as readonly number[])].sort() };
}

function fieldsIn(name: string, value: unknown): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw wrong(`${name}: send an object`);
  return value as Fields;
}

function wrong(what: string) {
  return turnRefusal("turn_invalid", { what });
}
