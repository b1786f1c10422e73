import type { Issue, VideoRequest } from "@sluice/core";
import type { UploadedMedia } from "@sluice/media";
import type { VideoTaskStore } from "@sluice/react";
import { atom } from "nanostores";
import { useEffect, useState } from "react";
import type { FormValue, FormValues, MediaField } from "@/components/sluice/form-fields";
import { fileProblem } from "@/components/sluice/form-problems";
import { keptAtom } from "../browser.js";
import { client } from "../client.js";
import { checkFiles } from "./check-files.js";

/*
 * Files that the user chose. A form has addresses, so an address that no server has stands for each file, until the
 * request is sent: then the file takes its place, and the library uploads it.
 */

const PLACE = "https://file.invalid/";
const files = new Map<string, File>();
const pictures = new Map<string, string>();

/** Returns the address that stands for a file as long as the page is open; one for a file that is chosen twice. */
function addressOf(file: File): string {
  const { name, size, lastModified } = file;
  const address = `${PLACE}${[size, lastModified, encodeURIComponent(name)].join("/")}`;
  // the first one: the library knows which of them it has uploaded
  if (!files.has(address)) files.set(address, file);
  return address;
}

/** The files of a form that the user chose on this page, with their addresses. */
export function filesIn(values: FormValues): readonly (readonly [address: string, file: File])[] {
  return addressesIn(values).flatMap((address) => {
    const file = files.get(address);
    return file ? [[address, file] as const] : [];
  });
}

function addressesIn(values: FormValues): readonly string[] {
  return Object.values(values).flatMap((value) => (Array.isArray(value) ? value : []));
}

/** Returns the name of the file that an address stands for; undefined for other addresses. */
export function fileNameAt(url: string): string | undefined {
  return url.startsWith(PLACE) ? decodeURIComponent(url.slice(url.lastIndexOf("/") + 1)) : undefined;
}

/** Returns an address that an `<img>` of this page can show; undefined where there is none. */
export function pictureAt(url: string): string | undefined {
  if (!url.startsWith(PLACE)) return /^(https?|data):/.test(url) ? url : undefined;
  const file = files.get(url);
  if (file?.type.startsWith("image/") && !pictures.has(url)) pictures.set(url, URL.createObjectURL(file));
  return pictures.get(url) ?? uploadedAt(url);
}

/** Says if an address stands for a file that is neither on this page nor at the proxy. */
const isLost = (url: string) => url.startsWith(PLACE) && !files.has(url) && !uploadedAt(url);

/** Returns the names of the files that have to be chosen again: the page was loaded since, and no link to them works. */
export function lostFilesOf(values: FormValues): readonly string[] {
  return addressesIn(values)
    .filter(isLost)
    .map((url) => fileNameAt(url) ?? "");
}

/** Leaves out the files that have to be chosen again. */
export function withoutLostFiles(values: FormValues): FormValues {
  const kept = Object.entries(values).map(([name, value]): [string, FormValue] => [
    name,
    Array.isArray(value) ? value.filter((url) => !isLost(url)) : value,
  ]);
  return Object.fromEntries(kept);
}

/** Puts the files of a request, or the links to them, in the place of their addresses. */
export function withFiles(request: VideoRequest): Parameters<VideoTaskStore["create"]>[0] {
  return JSON.parse(JSON.stringify(request), (_, value) =>
    typeof value === "string" ? (files.get(value) ?? uploadedAt(value) ?? value) : value,
  );
}

/*
 * Links of files that were uploaded, so that a file need not be chosen again after a reload. They are read at once when
 * the page starts: a form is restored with them.
 */

type Link = Pick<UploadedMedia, "url" | "expiresAt">;
type Links = Readonly<Record<string, Link>>;

/** Time that a link has to work on, so that the gateway can fetch the file after it has waited. */
const VALID_MS = 3_600_000;

const links = keptAtom<Links>("sluice-uploads", {}, isLinks);

/** Returns the link to an uploaded file, by the address that stands for the file; undefined without one that works. */
function uploadedAt(address: string): string | undefined {
  const link = links.get()[address];
  return link && isUsable(link) ? link.url : undefined;
}

/** Keeps the links of files that the client has uploaded. None of them is sent again for it. */
export async function keepLinks(sent: readonly (readonly [address: string, file: File])[]): Promise<void> {
  const { uploadMedia } = await import("./media-later.js");
  for (const [address, file] of sent) {
    const { url, expiresAt } = await uploadMedia(client, file);
    const known = Object.entries(links.get()).filter(([, link]) => isUsable(link));
    links.set({ ...Object.fromEntries(known), [address]: { url, expiresAt } });
  }
}

function isUsable({ expiresAt }: Link): boolean {
  return expiresAt - Date.now() > VALID_MS;
}

function isLinks(kept: unknown): kept is Links {
  const isLink = (one: Partial<Link> | null) =>
    typeof one?.url === "string" && /^https?:/.test(one.url) && typeof one.expiresAt === "number";
  return typeof kept === "object" && kept !== null && Object.values(kept).every(isLink);
}

/** Types for the file input of a field; empty where it takes links alone. */
export function acceptOf({ accept, media }: MediaField): string {
  return accept || accepted[media];
}

const accepted: Readonly<Record<MediaField["media"], string>> = {
  image: "image/png,image/jpeg,image/webp",
  video: "video/mp4,video/quicktime",
  audio: "audio/wav,audio/mpeg",
  file: ".pdf,.docx,.doc,.pptx,.ppt,.xlsx,.xls,.txt,.md,.key,.pages,.numbers",
  link: "",
};

/** Short help for what a field takes. */
export const fileHints: Readonly<Partial<Record<MediaField["media"], string>>> = {
  video: "MP4 or MOV, 15 seconds at most",
  audio: "WAV or MP3, 15 seconds at most",
  file: "PDF, Word, slides, tables or text",
};

/** Finds the field that takes a file, by its type. */
export function fieldFor(file: File, fields: readonly MediaField[]): MediaField | undefined {
  const [kind] = file.type.split("/");
  const media = kind === "image" || kind === "video" || kind === "audio" ? kind : "file";
  return fields.find((field) => field.media === media);
}

const pictureUses = ["first_frame", "last_frame", "reference_image"] as const;
const otherUses = ["reference_video", "reference_audio", "file"] as const;

/** Number of files that are being read. Nothing is sent before they are part of the form. */
export const filesInReading = atom(0);

/** Checks a file and returns its address, as `addressFor` does. */
export async function prepare(file: File, field: MediaField): Promise<string> {
  filesInReading.set(filesInReading.get() + 1);
  try {
    return await addressFor(file, field);
  } finally {
    filesInReading.set(filesInReading.get() - 1);
  }
}

/**
 * Checks a file, and returns its address for the form: a data URI where the model takes one.
 *
 * @throws {TypeError} with a text for people, where the field does not take it
 */
async function addressFor(file: File, field: MediaField): Promise<string> {
  if (field.media !== "image") {
    const objection = await objectionTo(file, field);
    if (objection) throw new TypeError(objection);
    return addressOf(file);
  }
  const { checkMedia, fitImage, toDataURI } = await import("./media-later.js");
  const use = pictureUses.find((known) => known === field.name);
  try {
    if (!use && (await checkMedia([{ media: file, use: "chat_image" }])).length > 0)
      throw new TypeError("no picture");
    const blob = use ? (await fitImage(file, use)).blob : file;
    if (field.accept !== "") return await toDataURI(blob);
    const { name, lastModified } = file;
    return addressOf(new File([blob], name, { type: blob.type, lastModified }));
  } catch (cause) {
    throw new TypeError(`“${file.name}” is not a picture.`, { cause });
  }
}

const kinds: Readonly<Partial<Record<MediaField["media"], string>>> = {
  video: "an MP4 or MOV video",
  audio: "a WAV or MP3 sound",
};

/** Says why a field does not take a file; undefined where it does. */
async function objectionTo(file: File, { name, path, media }: MediaField): Promise<string | undefined> {
  const { checkMedia, mediabunny, probeMedia } = await import("./media-later.js");
  const kind = kinds[media];
  if (kind && (await probeMedia(file, { parser: mediabunny })).kind !== media)
    return `“${file.name}” is not ${kind}.`;
  // the spec has limits for these models alone
  const use = path === "input.media" ? otherUses.find((known) => known === name) : undefined;
  const [issue] = use ? await checkMedia([{ media: file, use }], { parser: mediabunny }) : [];
  return issue && `“${file.name}”: ${fileProblem(issue.rule)}`;
}

/** Checks the files of a request together, such as their seconds in all; empty while there are none. */
export function useFileIssues(request: VideoRequest | undefined): readonly Issue[] {
  const json = JSON.stringify(request) ?? "";
  const checked = json.includes(PLACE) ? json : "";
  const [found, setFound] = useState<{ json: string; issues: readonly Issue[] }>();
  useEffect(() => {
    if (checked === "") return;
    const leaving = new AbortController();
    checkFiles(withFiles(JSON.parse(checked)) as VideoRequest, leaving).then(
      (issues) => setFound({ json: checked, issues }),
      () => {
        // another request is being checked, or the check before sending says why
      },
    );
    return () => leaving.abort();
  }, [checked]);
  return found && found.json === checked ? found.issues : [];
}
