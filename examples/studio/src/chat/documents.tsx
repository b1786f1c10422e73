import { useStore } from "@nanostores/react";
import type { useAttachments } from "@sluice/react/app";
import { FilePlus, FileText, X } from "lucide-react";
import { atom } from "nanostores";
import { type ClipboardEvent, type DragEvent, useEffect, useRef } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { Dialog, toast } from "../ui/popups.js";
import { documentWords } from "../words.js";

/** Largest text file, in bytes: more than most models read at once. */
const MOST_BYTES = 1_000_000;

/** Texts of files that no message box has taken yet. */
const added = atom<readonly string[]>([]);

/** Takes the texts of files that are added while the component is shown. */
export function useAddedTexts(take: (texts: readonly string[]) => void): void {
  const texts = useStore(added);
  useEffect(() => {
    if (texts.length === 0 || added.get() !== texts) return;
    added.set([]);
    take(texts);
  }, [texts, take]);
}

/** Adds files to the message as their text. What is no text is said. */
async function addDocuments(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    const text = await textOf(file);
    if (typeof text === "string") added.set([...added.get(), `File “${file.name}”:\n\n${text}`]);
    else toast(documentWords(text.problem, file.name));
  }
}

/** Name of the file whose text this is; undefined for a text that was pasted. */
function fileNameOf(text: string): string | undefined {
  return /^File “([^”]+)”:\n/.exec(text)?.[1];
}

type Refusal = { readonly problem: Parameters<typeof documentWords>[0] };

async function textOf(file: File): Promise<string | Refusal> {
  if (file.size > MOST_BYTES) return { problem: "size" };
  try {
    const bytes = await file.arrayBuffer();
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (text.startsWith("%PDF-")) return { problem: "pdf" };
    return text.includes("\0") ? { problem: "type" } : text;
  } catch {
    // a PDF has bytes that are no text, too
    const start = await file
      .slice(0, 5)
      .text()
      .catch(() => "");
    return { problem: start === "%PDF-" ? "pdf" : "type" };
  }
}

/** Takes drops of files: documents as their text, all others as attachments. */
export function dropPropsOf({
  dropProps,
  add,
}: Pick<ReturnType<typeof useAttachments>, "dropProps" | "add">) {
  return {
    ...dropProps,
    onDrop(event: DragEvent) {
      const files = [...event.dataTransfer.files];
      // what else is not taken is said of the attachments
      const documents = files.filter(({ type }) => !/^(?:image|video|audio)\//.test(type));
      if (documents.length === 0) return dropProps.onDrop(event);
      event.preventDefault();
      // ends the look of a drag
      dropProps.onDragLeave(event);
      void addDocuments(documents);
      if (documents.length < files.length) add(files.filter((file) => !documents.includes(file)));
    },
  };
}

/** The button that adds text files. */
export function DocumentButton() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        aria-label="Text files"
        className="hidden"
        onChange={({ target }) => {
          void addDocuments([...(target.files ?? [])]);
          target.value = "";
        }}
      />
      <IconButton label="Add text files" onClick={() => input.current?.click()}>
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
  readonly onRemove: (index: number) => void;
}

/** The long texts that go with the message. Each can be read, and removed. */
export function PastedTexts({ texts, onRemove }: PastedTextsProps) {
  if (texts.length === 0) return null;
  return (
    <ul aria-label="Texts to send" className="flex flex-wrap gap-2 p-1">
      {texts.map((text, index) => (
        <li key={index} className="flex items-center rounded-xl border bg-surface">
          <Dialog
            title={fileNameOf(text) ?? "Pasted text"}
            trigger={
              <Button look="quiet">
                <FileText aria-hidden />
                {fileNameOf(text) ?? "Pasted text"} · {text.length.toLocaleString("en")} characters
              </Button>
            }
          >
            <p dir="auto" className="text-sm wrap-anywhere whitespace-pre-wrap">
              {text}
            </p>
          </Dialog>
          <IconButton
            label={`Remove ${fileNameOf(text) ?? `pasted text ${index + 1}`}`}
            onClick={() => onRemove(index)}
          >
            <X aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}
