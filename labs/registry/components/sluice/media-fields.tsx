"use client";

import { FileText, Film, Globe, ImageOff, Music, Plus, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Refusals } from "@/components/sluice/attachments";
import { Button } from "@/components/sluice/button";
import type { FieldName } from "@/components/sluice/field-labels";
import { TextInput } from "@/components/sluice/fields";
import type { ShownForm } from "@/components/sluice/form-chips";
import { listURLs, type MediaField } from "@/components/sluice/form-fields";
import { mediaFormWords } from "@/components/sluice/media-words";
import { Popover } from "@/components/sluice/popups";

interface MediaFieldsProps {
  readonly form: ShownForm;
  /**
   * Returns the URL of a file for a request: a data URI, or the link of an uploaded file. Rejects with a text for people
   * if the model can't use the file.
   */
  readonly upload: (file: File, field: MediaField) => Promise<string>;
  /** True while files are read or uploaded: the form must wait. */
  readonly onBusy?: (isBusy: boolean) => void;
}

/** The images, videos and other files of a request: as files, as links, and by drag and drop. */
export function MediaFields({ form, upload, onBusy }: MediaFieldsProps) {
  const [refusals, setRefusals] = useState<readonly string[]>([]);
  const [isAdding, setIsAdding] = useState(false);
  const [showsAll, setShowsAll] = useState(false);
  const fields = form.fields.filter((field): field is MediaField => field.kind === "media");
  const shown = fields.filter(
    ({ name }, index) => showsAll || index < FIRST_FIELDS || listURLs(form.values, name).length > 0,
  );
  // `set` of a form replaces the value, and files arrive one after the other
  const urls = useRef(new Map<FieldName, readonly string[]>());
  useEffect(() => {
    for (const { name } of fields) urls.current.set(name, listURLs(form.values, name));
  });
  const add = (field: MediaField, added: readonly string[]) => {
    const { name, max = Number.POSITIVE_INFINITY } = field;
    const known = urls.current.get(name) ?? [];
    const next = [...known.filter((url) => !added.includes(url)), ...added].slice(-max);
    urls.current.set(name, next);
    form.set(name, next);
  };
  const addFiles = async (field: MediaField, files: readonly File[]) => {
    const { max = MAX_FILES } = field;
    const problems = files.length > max ? [mediaFormWords.tooMany(max)] : [];
    setIsAdding(true);
    onBusy?.(true);
    for (const file of files.slice(0, max))
      try {
        add(field, [await upload(file, field)]);
      } catch (error) {
        problems.push(error instanceof TypeError ? error.message : mediaFormWords.refused(file.name));
      }
    setRefusals(problems);
    setIsAdding(false);
    onBusy?.(false);
  };
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        {shown.map((field) => (
          <FieldTiles
            key={field.name}
            field={field}
            form={form}
            onLink={(url) => add(field, [url])}
            onFiles={(files) => void addFiles(field, files)}
          />
        ))}
        {shown.length < fields.length && (
          <Button variant="quiet" onClick={() => setShowsAll(true)}>
            {mediaFormWords.more}
          </Button>
        )}
        {isAdding && (
          <span role="status" className="text-sm text-muted-foreground">
            {mediaFormWords.adding}
          </span>
        )}
      </div>
      <Refusals lines={refusals} onDismiss={() => setRefusals([])} />
      {fields.map(({ name }) => {
        const problem = form.problems.get(name);
        return (
          problem && (
            <p key={name} role="alert" className="text-xs text-destructive">
              {problem}
            </p>
          )
        );
      })}
    </div>
  );
}

/** Number of fields that are shown at first: the first and the last frame of a video. */
const FIRST_FIELDS = 2;

/** Maximum number of files of a field without a limit. */
const MAX_FILES = 10;

interface FieldTilesProps {
  readonly field: MediaField;
  readonly form: ShownForm;
  readonly onFiles: (files: readonly File[]) => void;
  readonly onLink: (url: string) => void;
}

function FieldTiles({ field, form, onFiles, onLink }: FieldTilesProps) {
  const { name, label, max = MAX_FILES } = field;
  const urls = listURLs(form.values, name);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside do the same by keyboard
    <div
      className="flex flex-wrap gap-2"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        const files = [...event.dataTransfer.files];
        if (files.length === 0) return;
        event.preventDefault();
        onFiles(files);
      }}
    >
      {urls.map((url) => (
        <Thumbnail
          key={url}
          url={url}
          field={field}
          onRemove={() =>
            form.set(
              name,
              urls.filter((other) => other !== url),
            )
          }
        />
      ))}
      {urls.length < max && (
        <Popover
          title={label}
          trigger={
            <Button aria-label={mediaFormWords.add(label)} className="border-dashed">
              <Plus aria-hidden />
              {label}
            </Button>
          }
        >
          <AddBox field={field} onFiles={onFiles} onLink={onLink} />
        </Popover>
      )}
    </div>
  );
}

function AddBox({ field, onFiles, onLink }: Omit<FieldTilesProps, "form">) {
  const input = useRef<HTMLInputElement>(null);
  const [link, setLink] = useState("");
  const accept = field.accept || acceptedTypes[field.media];
  const submit = () => {
    if (link.trim() === "") return;
    onLink(link.trim());
    setLink("");
  };
  return (
    <>
      <p className="text-sm font-medium">{field.label}</p>
      {accept !== "" && (
        <>
          <Button onClick={() => input.current?.click()}>{mediaFormWords.choose}</Button>
          <input
            ref={input}
            type="file"
            hidden
            aria-label={mediaFormWords.files(field.label)}
            accept={accept}
            multiple={field.max !== 1}
            onChange={({ currentTarget }) => {
              onFiles([...(currentTarget.files ?? [])]);
              // the user may choose the same file again
              currentTarget.value = "";
            }}
          />
        </>
      )}
      <div className="flex gap-2">
        <TextInput
          type="url"
          aria-label={mediaFormWords.link(field.label)}
          placeholder="https://…"
          value={link}
          onChange={(event) => setLink(event.target.value)}
          onKeyDown={(event) => event.key === "Enter" && submit()}
        />
        <Button onClick={submit}>{mediaFormWords.addLink}</Button>
      </div>
    </>
  );
}

const acceptedTypes: Readonly<Record<MediaField["media"], string>> = {
  image: "image/png,image/jpeg,image/webp",
  video: "video/mp4,video/quicktime",
  audio: "audio/wav,audio/mpeg",
  file: ".pdf,.docx,.doc,.pptx,.ppt,.xlsx,.xls,.txt,.md",
  link: "",
};

const icons = { image: ImageOff, video: Film, audio: Music, file: FileText, link: Globe };

interface ThumbnailProps {
  readonly url: string;
  readonly field: MediaField;
  readonly onRemove: () => void;
}

function Thumbnail({ url, field: { media, label }, onRemove }: ThumbnailProps) {
  const [hasFailed, setHasFailed] = useState(false);
  const Icon = icons[media];
  return (
    <span className="relative size-16 overflow-hidden rounded-xl border bg-secondary pointer-coarse:size-20">
      {media === "image" && !hasFailed && /^(?:data|https?):/.test(url) ? (
        <img
          src={url}
          alt={label}
          referrerPolicy="no-referrer"
          className="size-full object-cover"
          onError={() => setHasFailed(true)}
        />
      ) : (
        <span className="flex size-full flex-col items-center justify-center p-1 text-xs text-muted-foreground">
          <Icon aria-hidden className="size-4" />
          <bdi className="w-full truncate text-center">{url.replace(/^\w+:\/\//, "")}</bdi>
        </span>
      )}
      <button
        type="button"
        aria-label={mediaFormWords.remove(label)}
        onClick={onRemove}
        className="absolute top-1 end-1 flex size-6 items-center justify-center rounded-full border bg-card pointer-coarse:size-11"
      >
        <X aria-hidden className="size-3.5" />
      </button>
    </span>
  );
}
