// a separate file: a bundler drops the rest of mediabunny, and loads these exports with the first video
export { CustomSource, Input, MP3, MP4, QTFF, WAVE } from "mediabunny";
