import { useState } from "react";

/** What is not over goes on, unseen, when it is removed: that is asked once more. */
export function Removal({ isOver, onRemove }: { isOver: boolean; onRemove: () => void }) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking)
    return (
      <button type="button" className="quiet small" onClick={() => (isOver ? onRemove() : setAsking(true))}>
        Remove
      </button>
    );
  return (
    <div className="removal">
      <span>It may go on at the gateway, and be billed.</span>
      <button type="button" className="small alarming" onClick={onRemove}>
        Remove
      </button>
      {/* biome-ignore lint/a11y/noAutofocus: somebody just asked for this, and the harmless answer is the nearest */}
      <button type="button" className="small" autoFocus onClick={() => setAsking(false)}>
        Keep
      </button>
    </div>
  );
}
