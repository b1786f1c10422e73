import type { Issue } from "@sluice/core";
import { useId, useRef, useState } from "react";
import { Issues } from "./field.js";

/** Something that a request takes along: a link, or a file as a data URI. */
export interface Source {
  readonly name: string;
  readonly url: string;
  /** What `url` was made of. */
  readonly file?: File;
}

interface SourcesProps {
  readonly name: string;
  readonly sources: readonly Source[];
  /** How many there may be. */
  readonly most?: number | undefined;
  /** What files can be chosen, `image/png,image/jpeg`; none where only a link will do. */
  readonly accept?: string | undefined;
  readonly hint?: string | undefined;
  readonly issues?: readonly Issue[];
  readonly onChange: (change: (sources: readonly Source[]) => readonly Source[]) => void;
}

/** What a request takes along, by file or by link. */
export function Sources(props: SourcesProps) {
  const { name, sources, most = Number.POSITIVE_INFINITY, accept, hint, issues = [], onChange } = props;
  const group = useRef<HTMLFieldSetElement>(null);
  const [objection, setObjection] = useState<string>();
  const add = (added: readonly Source[]) => onChange((known) => [...known, ...added].slice(0, most));
  const take = async (files: readonly File[]) => {
    setObjection(undefined);
    const { toDataURI } = await import("@sluice/core/media");
    for (const file of files)
      try {
        add([{ name: file.name, url: await toDataURI(file), file }]);
      } catch (error) {
        setObjection(`“${file.name}” can't be read: ${error instanceof Error ? error.message : error}`);
      }
  };
  const remove = (source: Source) => {
    onChange((known) => known.filter((other) => other !== source));
    group.current?.querySelector<HTMLElement>("button, input")?.focus();
  };

  return (
    <fieldset ref={group} className="field">
      <legend>{name}</legend>
      {sources.length > 0 && (
        <ul className="sources" aria-label={`${name} to send`}>
          {sources.map((source, place) => (
            <li key={`${place} ${source.name}`}>
              {source.url.startsWith("data:image/") && <img src={source.url} alt="" />}
              <span title={source.name}>{source.name}</span>
              <button
                type="button"
                className="quiet small"
                aria-label={`Remove ${source.name}`}
                onClick={() => remove(source)}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {sources.length < most && (
        <>
          {accept && <FileButton name={name} accept={accept} isMultiple={most > 1} onFiles={take} />}
          <LinkField name={name} onLink={(url) => add([{ name: url, url }])} />
        </>
      )}
      {hint && <p className="hint">{hint}</p>}
      {objection && (
        <p className="issue" role="alert">
          {objection}
        </p>
      )}
      <Issues issues={issues} />
    </fieldset>
  );
}

interface FileButtonProps {
  readonly name: string;
  readonly accept: string;
  readonly isMultiple: boolean;
  readonly onFiles: (files: readonly File[]) => void;
}

/** A button that asks for files. */
function FileButton({ name, accept, isMultiple, onFiles }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div>
      <button
        type="button"
        className="small"
        aria-label={`${name}: choose ${isMultiple ? "files" : "a file"}`}
        onClick={() => input.current?.click()}
      >
        Choose {isMultiple ? "files" : "a file"}
      </button>
      <input
        ref={input}
        type="file"
        accept={accept}
        multiple={isMultiple}
        hidden
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          // the same file can be picked again
          currentTarget.value = "";
        }}
      />
    </div>
  );
}

function LinkField({ name, onLink }: { name: string; onLink: (url: string) => void }) {
  const id = useId();
  const [link, setLink] = useState("");
  const add = () => {
    if (link.trim() === "") return;
    onLink(link.trim());
    setLink("");
  };
  return (
    <div className="by-link">
      <input
        id={id}
        type="text"
        inputMode="url"
        autoComplete="off"
        aria-label={`${name}: link`}
        placeholder="or a link"
        value={link}
        onChange={(event) => setLink(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          // it adds the link, and does not send the form
          event.preventDefault();
          add();
        }}
      />
      <button type="button" className="small" aria-label={`${name}: add the link`} onClick={add}>
        Add
      </button>
    </div>
  );
}
