# syntax=docker/dockerfile:1
# Node.js 24.18.0, by digest, so that the same clone gives the same image.
ARG BASE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d

FROM ${BASE} AS build
WORKDIR /src
COPY . .
RUN npm ci --no-audit --no-fund && npm run build

# What runs, by the lockfile, without what builds and tests it.
FROM ${BASE} AS modules
WORKDIR /srv/holdfast
COPY package.json package-lock.json ./
COPY tools/node-runtime/package.json tools/node-runtime/
COPY tools/react-native-stub tools/react-native-stub
# The image has its own Node.js: the one that a clone brings along stays out.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node

FROM ${BASE}
ENV NODE_ENV=production HOLDFAST_HOST=0.0.0.0 HOLDFAST_PORT=4100 HOLDFAST_GATEWAY_PORT=4101 HOLDFAST_DATA_DIR=/data
WORKDIR /srv/holdfast
COPY --from=modules /srv/holdfast ./
COPY --from=build /src/dist dist
RUN ln -s /srv/holdfast/dist/cli/main.js /usr/local/bin/holdfast \
  && chmod +x dist/cli/main.js \
  && install --directory --owner=node --group=node --mode=0700 /data
USER node
VOLUME /data
EXPOSE 4100 4101
# The command line is asked for nothing here: the server answers by itself.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.HOLDFAST_PORT + '/health').then(a => process.exit(a.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["holdfast"]
CMD ["serve"]
