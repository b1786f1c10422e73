import { Issues } from "../room/form/issues.js";
import { Sources } from "../room/sources/sources.js";
import type { ChangeOrder, IssuesOf } from "./findings.js";
import { mediaNames } from "./names.js";
import type { MediaOffer } from "./offer.js";
import type { VideoOrder } from "./order.js";

interface StartingPointsProps {
  readonly order: VideoOrder;
  readonly offers: readonly MediaOffer[];
  readonly issuesOf: IssuesOf;
  readonly onChange: ChangeOrder;
}

/** What the video starts from: frames of its own, or what it takes something from. */
export function StartingPoints({ offers, ...rest }: StartingPointsProps) {
  const frames = offers.filter(isFrame);
  const references = offers.filter((offer) => !isFrame(offer));
  return (
    <>
      {frames.length > 0 && <Group name="Frames" offers={frames} {...rest} />}
      {references.length > 0 && <Group name="References" offers={references} {...rest} />}
      <div aria-live="polite">
        <Issues issues={rest.issuesOf("media")} />
      </div>
    </>
  );
}

function Group({ name, order, offers, issuesOf, onChange }: StartingPointsProps & { readonly name: string }) {
  const given = offers.reduce((sum, { kind }) => sum + (order.media[kind]?.length ?? 0), 0);
  return (
    <details
      // shut again only by whoever opened it: what was given is never out of sight
      key={String(given > 0)}
      className="extras"
      open={given > 0}
      // nothing can be dropped on what is folded away
      onDragEnter={({ currentTarget }) => {
        currentTarget.open = true;
      }}
    >
      <summary>
        {name}
        {given > 0 && `: ${given}`}
      </summary>
      {offers.map(({ kind, most, accept }) => (
        <Sources
          key={kind}
          name={mediaNames[kind]}
          sources={order.media[kind] ?? []}
          most={most}
          accept={accept}
          hint={accept ? undefined : "A public link: the gateway downloads it itself."}
          issues={issuesOf(kind)}
          onChange={(change) =>
            onChange((known) => ({
              ...known,
              media: { ...known.media, [kind]: change(known.media[kind] ?? []) },
            }))
          }
        />
      ))}
    </details>
  );
}

function isFrame({ kind }: MediaOffer): boolean {
  return kind === "first_frame" || kind === "last_frame";
}
