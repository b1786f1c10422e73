import { useState } from "react";
import type { Source } from "./source.js";

/** How a list of sources is changed. */
export type ChangeSources = (change: (sources: readonly Source[]) => readonly Source[]) => void;

interface Rules {
  /** How many there may be. */
  readonly most: number;
  /** What files are taken, `image/png,image/jpeg`; none where only a link will do. */
  readonly accept: string | undefined;
}

/** Takes files and links into a list, and says why it does not take one. */
export function useSources({ most, accept }: Rules, onChange: ChangeSources) {
  const [objection, setObjection] = useState<string>();
  const add = (added: readonly Source[]) => onChange((known) => [...known, ...added].slice(0, most));

  async function takeFiles(files: readonly File[]): Promise<void> {
    const refused = files.flatMap((file) => objectionTo(file, accept) ?? []);
    setObjection(refused.length > 0 ? refused.join(" ") : undefined);
    const { toDataURI } = await import("@sluice/core/media");
    for (const file of files.filter((one) => !objectionTo(one, accept)))
      try {
        add([{ name: file.name, url: await toDataURI(file), file }]);
      } catch (error) {
        setObjection(`“${file.name}” can't be read: ${error instanceof Error ? error.message : error}`);
      }
  }

  function takeLinks(links: readonly string[]): void {
    setObjection(undefined);
    add(links.map((url) => ({ name: url, url })));
  }

  return { objection, takeFiles, takeLinks };
}

function objectionTo({ name, type }: File, accept: string | undefined): string | undefined {
  if (accept === undefined)
    return `“${name}” is on this machine only: put it where the gateway can download it, and give the link.`;
  const types = accept.split(",");
  if (types.includes(type)) return undefined;
  return `“${name}” is none of ${types.map((one) => one.replace(/^.*\//, "").toUpperCase()).join(", ")}.`;
}
