import { type UseAssetResult, useAsset } from "@sluice/react";
import { CopyButton } from "../copy-button.js";
import { GivenUp } from "../room/questions.js";
import { moment } from "../room/use-now.js";
import { Preparation } from "./preparation.js";
import { type RegisteredAsset, registered, takeToVideo } from "./registered.js";

/** An asset that was registered here, and whether it can be used. */
export function AssetCard({ known }: { known: RegisteredAsset }) {
  const asset = useAsset({ assetId: known.id });
  const { status, asset: seen, error, uri, refetch } = asset;
  const shown = seen?.temporaryURL?.forDisplayOnly;
  return (
    <article className="task asset" aria-label={known.name}>
      {uri && shown && <img src={shown} alt="" referrerPolicy="no-referrer" />}
      <div>
        <header>
          <p dir="auto">{known.name}</p>
          <p className="hint">
            <strong role="status">{wordOf(asset)}</strong> · {known.groupId} · {moment(known.registeredAt)}
          </p>
          <button
            type="button"
            className="quiet small"
            title="Takes it off this list; it stays registered at the gateway"
            onClick={() => registered.remove(known.id)}
          >
            Remove
          </button>
        </header>
        <p className="uri">
          <code>{known.uri}</code>
          <CopyButton name="Copy the address" textOf={() => known.uri} />
        </p>
        {status === "pending" && <Preparation asset={asset} since={known.registeredAt} />}
        {uri && (
          <button type="button" className="small" onClick={() => takeToVideo(known)}>
            Use in a video
          </button>
        )}
        {error &&
          (seen?.state === "failed" ? (
            <p className="alarm">
              <strong>The gateway can't use this image.</strong> Register another.
            </p>
          ) : (
            <GivenUp error={error} onAsk={refetch} />
          ))}
      </div>
    </article>
  );
}

function wordOf({ status, asset }: UseAssetResult): string {
  switch (status) {
    case "success":
      return "Ready";
    case "error":
      return asset?.state === "failed" ? "Failed" : "Not known";
    default:
      return asset ? `Being prepared (${asset.rawStatus})` : "Registered";
  }
}
