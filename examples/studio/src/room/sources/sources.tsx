import type { Issue } from "@sluice/core";
import { useRef } from "react";
import { Issues } from "../form/issues.js";
import { FileButton } from "./file-button.js";
import { LinkField } from "./link-field.js";
import type { Source } from "./source.js";
import { SourceList } from "./source-list.js";
import { type Dropped, useDrop } from "./use-drop.js";
import { type ChangeSources, useSources } from "./use-sources.js";
import "./sources.css";

interface SourcesProps {
  readonly name: string;
  readonly sources: readonly Source[];
  /** How many there may be. */
  readonly most?: number | undefined;
  /** What files can be chosen, `image/png,image/jpeg`; none where only a link will do. */
  readonly accept?: string | undefined;
  readonly hint?: string | undefined;
  readonly issues?: readonly Issue[];
  readonly onChange: ChangeSources;
}

/** What a request takes along: files that are chosen or dropped, and links. */
export function Sources(props: SourcesProps) {
  const { name, sources, most = Number.POSITIVE_INFINITY, accept, hint, issues = [], onChange } = props;
  const group = useRef<HTMLFieldSetElement>(null);
  const { objection, takeFiles, takeLinks } = useSources({ most, accept }, onChange);
  const { isOver, target } = useDrop(({ files, links }: Dropped) => {
    if (links.length > 0) takeLinks(links);
    else void takeFiles(files);
  });
  const remove = (source: Source) => {
    onChange((known) => known.filter((other) => other !== source));
    group.current?.querySelector<HTMLElement>("button, input")?.focus();
  };

  return (
    <fieldset ref={group} className={isOver ? "field over" : "field"} {...target}>
      <legend>{name}</legend>
      <SourceList name={name} sources={sources} onRemove={remove} />
      {sources.length < most && (
        <>
          {accept && (
            <FileButton
              name={name}
              accept={accept}
              isMultiple={most > 1}
              onFiles={(files) => void takeFiles(files)}
            />
          )}
          <LinkField name={name} onLink={(url) => takeLinks([url])} />
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
