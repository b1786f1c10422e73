import { useStore } from "@nanostores/react";
import type { useAttachments } from "@sluice/react";
import { FilePlus, FileText, X } from "lucide-react";
import { atom } from "nanostores";
import { type ClipboardEvent, type DragEvent, useEffect, useRef } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { Dialog } from "../ui/popups.js";
import { documentWords, pagesWords, readingWords, sentWords } from "../words.js";

/** Largest text, in bytes: more than most models read at once. */
const MOST_BYTES = 1_000_000;
/** Largest PDF, in bytes, with its pictures. */
const MOST_PDF_BYTES = 50_000_000;

/** A file on its way into the message of a draft. */
interface Incoming {
  readonly draftKey: string;
  readonly file: File;
  /** Ends the reading. */
  readonly end: AbortController;
  /** The page of a PDF that is being read, of all. */
  readonly page?: readonly [page: number, pages: number];
  /** Text that was read, until a message box takes it. */
  readonly text?: string;
  /** Reason that nothing of it is sent. */
  readonly refusal?: string;
}

const incoming = atom<readonly Incoming[]>([]);

function change(which: (one: Incoming) => boolean, changes: Partial<Incoming>): void {
  incoming.set(incoming.get().map((one) => (which(one) ? { ...one, ...changes } : one)));
}

function drop(which: (one: Incoming) => boolean): void {
  incoming.set(incoming.get().filter((one) => !which(one)));
}

/** Takes the texts of files that are added to a draft. Returns the files that are being read for it. */
export function useIncoming(draftKey: string, take: (texts: readonly string[]) => void): readonly Incoming[] {
  const all = useStore(incoming);
  const lastKey = useRef(draftKey);
  useEffect(() => {
    const before = lastKey.current;
    lastKey.current = draftKey;
    // a new chat gets an id with its first message
    if (before !== draftKey) change((one) => one.draftKey === before, { draftKey });
    const isRead = (one: Incoming) => one.draftKey === draftKey && one.text !== undefined;
    const texts = incoming.get().flatMap((one) => (isRead(one) ? (one.text ?? []) : []));
    if (texts.length === 0) return;
    drop(isRead);
    take(texts);
  }, [draftKey, all, take]);
  return all.filter((one) => one.draftKey === draftKey && (one.text ?? one.refusal) === undefined);
}

/** Says why files are not part of a draft, until that is dismissed. */
export function useRefusals(draftKey: string): readonly [lines: readonly string[], dismiss: () => void] {
  const isRefused = (one: Incoming) => one.draftKey === draftKey && one.refusal !== undefined;
  const lines = useStore(incoming).flatMap((one) => (isRefused(one) ? (one.refusal ?? []) : []));
  return [lines, () => drop(isRefused)];
}

/** Adds files to a message as their text, one after the other. Of what has none, the page says so. */
async function addDocuments(files: readonly File[], draftKey: string): Promise<void> {
  const all = files.map((file): Incoming => ({ draftKey, file, end: new AbortController() }));
  incoming.set([...incoming.get(), ...all]);
  for (const { file, end } of all) {
    const isThis = (one: Incoming) => one.end === end;
    if (end.signal.aborted) continue;
    const found = await textOf(file, (page) => change(isThis, { page }), end.signal);
    if ("text" in found) change(isThis, found);
    else change(isThis, { refusal: documentWords(found.problem, file.name) });
  }
}

/** Removes a file that is being read. */
function giveUp({ end }: Incoming): void {
  end.abort();
  drop((one) => one.end === end);
}

/** The text of a file as it goes with a message: `part` says what of the file it is. */
function headed(text: string, { name }: File, part?: string): string {
  // the name ends with the first of these
  const quoted = `File “${name.replaceAll("”", "'")}”`;
  return `${quoted}${part === undefined ? "" : ` (${part}, without pictures)`}:\n\n${text}`;
}

/** Name of the file whose text this is, and what of it was read; empty for a text that was pasted. */
function fileOf(text: string): { readonly name?: string | undefined; readonly part?: string | undefined } {
  const [, name, part] = /^File “([^”]+)”(?: \((text of .+?), without pictures\))?:\n/.exec(text) ?? [];
  return { name, part };
}

type Found = { readonly text: string } | { readonly problem: Parameters<typeof documentWords>[0] };

async function textOf(file: File, onPage: OnPage, signal: AbortSignal): Promise<Found> {
  if (await isPDF(file)) return textOfPDF(file, onPage, signal);
  if (file.size > MOST_BYTES) return { problem: "size" };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? { problem: "type" } : { text: headed(text, file) };
  } catch {
    return { problem: "type" };
  }
}

type OnPage = (page: readonly [page: number, pages: number]) => void;

async function textOfPDF(file: File, onPage: OnPage, signal: AbortSignal): Promise<Found> {
  if (file.size > MOST_PDF_BYTES) return { problem: "pdf-size" };
  try {
    const { readPDF } = await import("./pdf.js");
    const options = {
      mostBytes: MOST_BYTES,
      signal,
      onPage: (...page: Parameters<OnPage>[0]) => onPage(page),
    };
    const found = await readPDF(file, options);
    if (typeof found === "string") return { problem: found };
    return { text: headed(found.text, file, pagesWords(found.pagesWithText, found.pages)) };
  } catch {
    // what was given up is not shown
    return { problem: "unloaded" };
  }
}

async function isPDF(file: File): Promise<boolean> {
  if (file.type === "application/pdf" || /\.pdf$/i.test(file.name)) return true;
  const start = await file
    .slice(0, 5)
    .text()
    .catch(() => "");
  return start === "%PDF-";
}

/** Takes files out of a drop or a paste: documents as their text. Returns the others. */
function otherFiles(files: Iterable<File>, draftKey: string): readonly File[] {
  const all = [...files];
  // what else is not taken is said of the attachments
  const documents = all.filter(({ type }) => !/^(?:image|video|audio)\//.test(type));
  if (documents.length > 0) void addDocuments(documents, draftKey);
  return all.filter((file) => !documents.includes(file));
}

type Attachments = Pick<ReturnType<typeof useAttachments>, "dropProps" | "onPaste" | "add">;

/** Takes drops of files: documents as their text, all others as attachments. */
export function dropPropsOf({ dropProps, add }: Omit<Attachments, "onPaste">, draftKey: string) {
  return {
    ...dropProps,
    onDrop(event: DragEvent) {
      if (event.dataTransfer.files.length === 0) return dropProps.onDrop(event);
      event.preventDefault();
      // ends the look of a drag
      dropProps.onDragLeave(event);
      const others = otherFiles(event.dataTransfer.files, draftKey);
      if (others.length > 0) add(others);
    },
  };
}

/** Takes files that are pasted, in the same way. */
export function pasteOf({ onPaste, add }: Omit<Attachments, "dropProps">, draftKey: string) {
  return (event: ClipboardEvent) => {
    const { files, types } = event.clipboardData;
    if (files.length === 0 || types.includes("text/plain")) return onPaste(event);
    event.preventDefault();
    const others = otherFiles(files, draftKey);
    if (others.length > 0) add(others);
  };
}

/** The button that adds text files and PDFs. */
export function DocumentButton({ draftKey }: { readonly draftKey: string }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        aria-label="Text files and PDFs"
        className="hidden"
        onChange={({ target }) => {
          void addDocuments([...(target.files ?? [])], draftKey);
          target.value = "";
        }}
      />
      <IconButton label="Add text files or PDFs" onClick={() => input.current?.click()}>
        <FilePlus aria-hidden />
      </IconButton>
    </>
  );
}

/** Length from which a pasted text stands beside the field: in it, each key would take longer. */
const LONG_PASTE = 10_000;

/** Takes a long text out of a paste; undefined where the field is to get it. */
export function longTextOf(event: ClipboardEvent): string | undefined {
  const text = event.clipboardData.getData("text/plain");
  if (text.length < LONG_PASTE) return undefined;
  event.preventDefault();
  return text;
}

/** Reads the pasted texts of a draft. */
export function textsOf(stored: unknown): readonly string[] | undefined {
  return Array.isArray(stored) ? stored.filter((text) => typeof text === "string") : undefined;
}

interface PastedTextsProps {
  readonly texts: readonly string[];
  /** Files whose texts come. */
  readonly reading: readonly Incoming[];
  readonly onRemove: (index: number) => void;
}

/** The long texts that go with the message. Each can be read, and removed. */
export function PastedTexts({ texts, reading, onRemove }: PastedTextsProps) {
  if (texts.length + reading.length === 0) return null;
  return (
    <ul aria-label="Texts to send" className="flex flex-wrap gap-2 p-1">
      {texts.map((text, index) => (
        <TextChip key={index} text={text} index={index} onRemove={() => onRemove(index)} />
      ))}
      {reading.map((one, index) => (
        <li
          key={`reading ${index}`}
          className="flex max-w-full items-center rounded-xl border bg-surface pl-3 text-sm"
        >
          <span role="status" className="min-w-0 wrap-anywhere">
            {readingWords(one.file.name, one.page)}
          </span>
          <IconButton label={`Remove ${one.file.name}`} onClick={() => giveUp(one)}>
            <X aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

interface TextChipProps {
  readonly text: string;
  readonly index: number;
  readonly onRemove: () => void;
}

function TextChip({ text, index, onRemove }: TextChipProps) {
  const { name, part } = fileOf(text);
  return (
    <li className="flex max-w-full items-center rounded-xl border bg-surface">
      <Dialog
        title={name ?? "Pasted text"}
        trigger={
          <Button look="quiet" className="min-w-0 shrink! py-1 text-left">
            <FileText aria-hidden />
            <span className="min-w-0 wrap-anywhere">
              {name ?? "Pasted text"} · {sentWords(text.length, part)}
            </span>
          </Button>
        }
      >
        <p dir="auto" className="text-sm wrap-anywhere whitespace-pre-wrap">
          {text}
        </p>
      </Dialog>
      <IconButton label={`Remove ${name ?? `pasted text ${index + 1}`}`} onClick={onRemove}>
        <X aria-hidden />
      </IconButton>
    </li>
  );
}
