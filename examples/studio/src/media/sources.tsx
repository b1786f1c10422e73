import { useStore } from "@nanostores/react";
import clsx from "clsx";
import { Box, FileText, Film, Globe, ImageOff, Music, Plus, X } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { useDropzone } from "react-dropzone";
import { Refusals } from "@/components/sluice/attachments";
import type { FieldName } from "@/components/sluice/field-labels";
import type { MediaField } from "@/components/sluice/form-fields";
import { useMediaLink } from "@/components/sluice/media-link";
import { registered } from "../assets/registered.js";
import { lostFilesWords } from "../room-words.js";
import { MOST_FILES, type Refused, refusedWords } from "../words.js";
import { AddMedia } from "./add-media.js";
import { fileNameAt, pictureAt, prepare } from "./files.js";
import { type FormControls, urlsOf } from "./use-media-form.js";

/** Adds files and links to the fields of a form; says which are not taken, and why. */
export function useSources({ add, values }: Pick<FormControls, "add" | "values">) {
  const [refused, setRefused] = useState<readonly Refused[]>([]);

  /** Number of things that a field still takes; a field for one gets another in its place. */
  const roomIn = ({ name, max = MOST_FILES }: MediaField) =>
    max === 1 ? 1 : Math.max(0, max - urlsOf(values, name).length);

  /** Adds each file to the field that `fieldOf` finds for it. */
  async function addFilesTo(
    fieldOf: (file: File) => MediaField | undefined,
    files: readonly File[],
  ): Promise<void> {
    setRefused([]);
    const found: Refused[] = [];
    const added = new Map<FieldName, number>();
    for (const file of files) {
      const field = fieldOf(file);
      if (!field) found.push({ reason: "type", text: `“${file.name}” can't be used here.` });
      else {
        const count = added.get(field.name) ?? 0;
        if (count >= roomIn(field)) found.push(tooMany(field));
        else
          await prepare(file, field).then(
            (url) => {
              added.set(field.name, count + 1);
              add(field, [url]);
            },
            (error: unknown) => found.push(refusalOf(file, error)),
          );
      }
    }
    // at once: one announcement
    setRefused(found);
  }

  function addLinks(field: MediaField, links: readonly string[]): void {
    const room = roomIn(field);
    setRefused(links.slice(room).map(() => tooMany(field)));
    add(field, links.slice(0, room));
  }

  return {
    refusals: <Refusals lines={refusedWords(refused)} onDismiss={() => setRefused([])} />,
    addFilesTo,
    addFiles: (field: MediaField, files: readonly File[]) => addFilesTo(() => field, files),
    addLinks,
  };
}

function tooMany({ max = MOST_FILES }: MediaField): Refused {
  return { reason: "number", most: max };
}

function refusalOf({ name }: File, error: unknown): Refused {
  return error instanceof TypeError
    ? { reason: "rule", text: error.message }
    : { reason: "unreadable", text: `“${name}” can't be read.` };
}

/** Takes what is dropped on an element: files, or the link of a picture of this page or another. */
export function useDrop(onFiles: (files: readonly File[]) => void, onLinks: (links: string[]) => void) {
  // the link has to be read while the event runs; files come later
  const links = useRef<string[]>([]);
  const { getRootProps, isDragActive } = useDropzone({
    noClick: true,
    noKeyboard: true,
    noDragEventsBubbling: true,
    onDrop(files) {
      if (links.current.length > 0) onLinks(links.current);
      else if (files.length > 0) onFiles(files);
    },
  });
  const { role: _, onDrop: onDropOfFiles, ...rest } = getRootProps();
  const dropProps = {
    ...rest,
    onDrop(event: DragEvent<HTMLElement>) {
      const { dataTransfer } = event;
      links.current = dataTransfer
        .getData("text/uri-list")
        .split(/\s+/)
        .filter((url) => /^https?:/.test(url));
      // without files the library does not call its own `onDrop`
      if (!dataTransfer.types.includes("Files") && links.current.length > 0) onLinks(links.current);
      onDropOfFiles?.(event);
    },
  };
  return { dropProps, isOver: isDragActive };
}

interface TileProps {
  readonly field: MediaField;
  readonly form: FormControls;
}

/** A frame of the video: a tile to drop a picture on. */
export function FrameTile({ field, form }: TileProps) {
  const { refusals, addFiles, addLinks } = useSources(form);
  const { dropProps, isOver } = useDrop(
    (files) => void addFiles(field, files),
    (links) => addLinks(field, links),
  );
  const [url] = urlsOf(form.values, field.name);
  const problem = form.problems.get(field.name);
  return (
    <fieldset {...dropProps} aria-label={field.label} className="flex min-w-0 flex-col gap-1">
      {url ? (
        <Thumbnail
          url={url}
          media={field.media}
          label={field.label}
          className="aspect-video w-full"
          onRemove={() => form.remove(field.name, url)}
        />
      ) : (
        <AddMedia
          title={field.label}
          fields={[field]}
          onFiles={addFiles}
          onLinks={addLinks}
          trigger={
            <button
              type="button"
              data-invalid={problem ? "" : undefined}
              className={clsx(
                "flex h-14 w-full flex-col items-center justify-center gap-1 rounded-xl border border-dashed @xl:aspect-video @xl:h-auto text-sm text-muted transition-colors hover:border-accent hover:text-foreground data-invalid:border-destructive",
                isOver ? "border-accent bg-accent-soft" : "border-edge",
              )}
            >
              <Plus className="size-4" aria-hidden />
              {field.label}
            </button>
          }
        />
      )}
      {refusals}
      {problem && <Problem text={problem} />}
    </fieldset>
  );
}

/** Says which files have to be chosen again. Nothing is shown where none is. */
export function LostFiles({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p role="status" className="rounded-lg bg-warn-soft px-3 py-2 text-sm wrap-anywhere">
      {lostFilesWords(names)}
    </p>
  );
}

/** Problem of a field, shown below it. */
export function Problem({ text, id }: { readonly text: string; readonly id?: string }) {
  return (
    <p id={id} role="alert" className="text-xs text-danger">
      {text}
    </p>
  );
}

interface ThumbnailProps {
  readonly url: string;
  readonly media: MediaField["media"];
  /** Name of what it is: "First frame". */
  readonly label: string;
  readonly className?: string;
  readonly onRemove: () => void;
}

const icons = { image: ImageOff, video: Film, audio: Music, file: FileText, link: Globe };

/** A file or link of a request, and the button that takes it out. */
function Thumbnail({ url, media, label, className, onRemove }: ThumbnailProps) {
  const assets = useStore(registered.items);
  const isAsset = url.startsWith("asset:");
  const asset = assets.find(({ uri }) => uri === url);
  const shown = isAsset ? asset?.picture : media === "image" ? pictureAt(url) : undefined;
  const link = useMediaLink(shown ?? "");
  const isCovered = link.phase !== "loading" && link.phase !== "shown";
  const Icon = isAsset ? Box : icons[media];
  const name = url.startsWith("data:") ? label : (fileNameAt(url) ?? url.replace(/^\w+:\/\//, ""));
  return (
    <div className={clsx("group relative shrink-0 overflow-hidden rounded-xl border bg-sunken", className)}>
      {shown && (
        <img
          key={link.attempt}
          src={shown}
          alt={label}
          className={clsx("size-full object-cover", isCovered && "invisible absolute inset-0")}
          referrerPolicy="no-referrer"
          onLoad={link.onShown}
          onError={link.onFailed}
        />
      )}
      {(!shown || isCovered) && (
        <span className="flex size-full flex-col items-center justify-center gap-1 p-1 text-xs text-muted">
          <Icon className="size-4 shrink-0" aria-hidden />
          <span className="w-full truncate text-center">{name}</span>
        </span>
      )}
      <button
        type="button"
        aria-label={`Remove ${name}`}
        data-tip="Remove"
        onClick={onRemove}
        className="absolute top-1 right-1 flex size-6 items-center justify-center rounded-full bg-raised text-ink shadow-pop pointer-coarse:size-11"
      >
        <X className="size-3.5" aria-hidden />
      </button>
    </div>
  );
}

/** The references of a request, in a row of small tiles. Nothing is shown while there are none. */
export function References({ fields, form }: { fields: readonly MediaField[]; form: FormControls }) {
  const given = fields.flatMap((field) => urlsOf(form.values, field.name).map((url) => ({ field, url })));
  const problems = fields.flatMap(({ name }) => form.problems.get(name) ?? []);
  return (
    <>
      {given.length > 0 && (
        <ul aria-label="References" className="flex flex-wrap gap-2">
          {given.map(({ field, url }) => (
            <li key={`${field.name} ${url}`}>
              <Thumbnail
                url={url}
                media={field.media}
                label={field.label}
                className="size-16 pointer-coarse:size-20"
                onRemove={() => form.remove(field.name, url)}
              />
            </li>
          ))}
        </ul>
      )}
      {problems.map((problem) => (
        <Problem key={problem} text={problem} />
      ))}
    </>
  );
}
