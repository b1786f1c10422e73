/* The script of diagram.html: draws the diagrams that the studio sends to it. */

import mermaid from "mermaid";

interface Order {
  readonly code: string;
  readonly isDark: boolean;
}

let count = 0;

addEventListener("message", async ({ data, source, ports: [port] }: MessageEvent<Order>) => {
  if (source !== parent || !port) return;
  try {
    mermaid.initialize({
      startOnLoad: false,
      suppressErrorRendering: true,
      // what a response may not set: styles could load a foreign address, which the policy of this frame refuses, too
      secure: [
        ...["secure", "securityLevel", "startOnLoad", "maxTextSize", "maxEdges", "suppressErrorRendering"],
        ...["themeCSS", "themeVariables", "fontFamily", "altFontFamily"],
      ],
      theme: data.isDark ? "dark" : "neutral",
      // an image has no fonts of the page, so that the text is measured in one that it has
      fontFamily: "sans-serif",
      htmlLabels: false,
      flowchart: { htmlLabels: false },
    });
    count += 1;
    const { svg } = await mermaid.render(`diagram-${count}`, data.code);
    port.postMessage(sized(svg));
  } catch {
    port.postMessage(undefined);
  }
});
parent.postMessage("ready", location.origin);

/** Gives the picture a size of its own: an image without one is stretched. */
function sized(svg: string): { svg: string; width: number } {
  const root = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  const [, , width = 0, height = 0] = (root?.getAttribute("viewBox") ?? "").split(" ").map(Number);
  root?.setAttribute("width", String(width));
  root?.setAttribute("height", String(height));
  return { svg: root ? new XMLSerializer().serializeToString(root) : svg, width: Math.ceil(width) };
}
