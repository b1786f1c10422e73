import type { FieldLabels, FieldText } from "@/components/sluice/field-labels";

/*
 * Nothing is taken from the English labels, so that a missing text is a type error. No sentence says "du" or "Sie": the
 * texts fit every app.
 */

const field = (label: string, hint = ""): FieldText => ({ label, hint });

/**
 * German labels.
 *
 * @example
 * ```ts
 * const { fields } = imageForm("gamma-image-5-0-260128", {}, { labels: fieldLabels });
 * ```
 */
export const fieldLabels: FieldLabels = {
  fields: {
    prompt: field("Beschreibung", "Was soll zu sehen sein?"),
    thinking: field("Nachdenken", "Das Modell denkt vor der Antwort nach."),
    reasoning_effort: field("Aufwand", "Mehr Aufwand dauert länger."),
    max_tokens: field("Längste Antwort", "In Tokens gezählt, also Teilen von Wörtern."),
    temperature: field("Zufall", "0 ergibt die wahrscheinlichsten Wörter."),
    top_p: field("Wortwahl", "1 lässt jedes Wort zu."),
    frequency_penalty: field("Weniger Wiederholung", "Über 0 kommen weniger Wörter doppelt vor."),
    presence_penalty: field("Neue Themen", "Über 0 kommen neue Themen früher."),
    stop: field("Stopptexte", "Die Antwort endet vor einem von ihnen."),
    image: field("Bildvorlagen", "Das neue Bild richtet sich nach ihnen."),
    size: field("Größe"),
    sequential_image_generation: field("Bilderserie", "Mehrere Bilder, die zusammenpassen."),
    max_images: field("Höchstzahl Bilder"),
    seed: field("Startwert", "Gleiche Zahl, ähnliches Ergebnis."),
    watermark: field("Wasserzeichen"),
    add_logo: field("Logo", "Der Dienst setzt sein Logo auf das Bild."),
    position: field("Ort des Logos", "Eine Zahl, die der Dienst kennt."),
    language: field("Sprache des Logos", "Eine Zahl, die der Dienst kennt."),
    opacity: field("Deckkraft des Logos", "0 ist unsichtbar."),
    resolution: field("Auflösung"),
    ratio: field("Format"),
    duration: field("Länge"),
    audio: field("Ton"),
    generate_audio: field("Ton"),
    prompt_extend: field("Beschreibung verbessern", "Der Dienst ergänzt die Beschreibung."),
    camera_fixed: field("Feste Kamera"),
    return_last_frame: field("Letztes Bild liefern", "Das letzte Bild kommt auch einzeln."),
    web_search: field("Websuche", "Das Modell schlägt vorher nach."),
    first_frame: field("Erstes Bild"),
    last_frame: field("Letztes Bild"),
    reference_image: field("Bildvorlagen"),
    reference_video: field("Videovorlagen"),
    reference_audio: field("Tonvorlagen"),
    file: field("Dokument"),
    link: field("Webseite"),
  },
  choices: { low: "Niedrig", high: "Hoch", max: "Am höchsten", adaptive: "Wie die Vorlage" },
};
