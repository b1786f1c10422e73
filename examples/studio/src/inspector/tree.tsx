import { useStore } from "@nanostores/react";
import { ChevronRight } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { inspected } from "./feed.js";

interface TreeProps {
  readonly name: string;
  readonly value: unknown;
  /** Number of levels that are open at first. @default 0 */
  readonly depth?: number;
}

/** Length from which a text is shortened. */
const LONG = 300;

/** A value of any shape. Its parts are made when they are opened. */
export function Tree({ name, value, depth = 0 }: TreeProps) {
  const [isOpen, setIsOpen] = useState(depth > 0);
  const parts = partsOf(value);
  if (parts === undefined || parts.length === 0)
    return (
      <div className="pl-5">
        <span className="text-muted">{name}: </span>
        <Leaf value={value} />
      </div>
    );
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        className="flex w-full items-center gap-1 rounded text-left hover:bg-hover pointer-coarse:min-h-11"
        onClick={() => setIsOpen(!isOpen)}
      >
        <ChevronRight
          aria-hidden
          className={`size-4 shrink-0 transition-transform ${isOpen ? "rotate-90" : ""}`}
        />
        {name}
        <span className="text-muted">{Array.isArray(value) ? `[${parts.length}]` : `{${parts.length}}`}</span>
      </button>
      {isOpen && (
        <div className="ml-2 border-l pl-1">
          {parts.map(([key, part]) => (
            // the only part is as open as the whole
            <Tree key={key} name={key} value={part} depth={parts.length === 1 ? depth : depth - 1} />
          ))}
        </div>
      )}
    </div>
  );
}

function Leaf({ value }: { readonly value: unknown }) {
  const text = textOf(value);
  const tone =
    typeof value === "string" ? "text-accent" : value instanceof Error ? "text-danger" : "text-warn";
  return <span className={`break-words whitespace-pre-wrap ${tone}`}>{text}</span>;
}

function partsOf(value: unknown): [string, unknown][] | undefined {
  if (typeof value !== "object" || value === null || value instanceof Blob) return undefined;
  if (value instanceof Error) return [["message", value.message], ...Object.entries(value)];
  if (value instanceof Map) return [...value].map(([key, item]) => [String(key), item]);
  const items = value instanceof Set ? [...value] : value;
  return Object.entries(items).filter(([, item]) => typeof item !== "function" && item !== undefined);
}

function textOf(value: unknown): string {
  if (value instanceof Blob) return `${value.type || "file"}, ${value.size} bytes`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "[]" : "{}";
  const text = typeof value === "string" ? JSON.stringify(value) : String(value);
  return text.length > LONG ? `${text.slice(0, LONG)}… (${text.length})` : text;
}

/** The snapshot of the store of the room, live. */
export function StateView() {
  const shown = useDeferredValue(useStore(inspected));
  if (!shown) return null;
  return (
    <div className="p-3 font-mono text-xs">
      <Tree key={shown.work.room} name={shown.work.room} value={shown.state} depth={1} />
    </div>
  );
}
