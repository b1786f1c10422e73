import { FileText, X } from "lucide-react";
import type { ClipboardEvent } from "react";
import { Button, IconButton } from "../ui/button.js";
import { Dialog } from "../ui/popups.js";
import { fileNameOf } from "./documents.js";

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
