import type { Source } from "./source.js";

interface SourceListProps {
  readonly name: string;
  readonly sources: readonly Source[];
  readonly onRemove: (source: Source) => void;
}

/** What goes with the request, each with the way to take it out again. */
export function SourceList({ name, sources, onRemove }: SourceListProps) {
  if (sources.length === 0) return null;
  return (
    <ul className="sources" aria-label={`${name} to send`}>
      {sources.map((source, place) => (
        <li key={`${place} ${source.name}`}>
          {source.url.startsWith("data:image/") && <img src={source.url} alt="" />}
          <span title={source.name}>{source.name}</span>
          <button
            type="button"
            className="quiet small"
            aria-label={`Remove ${source.name}`}
            onClick={() => onRemove(source)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
