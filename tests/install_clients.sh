#!/bin/sh
# Installs the clients of other languages and ages that the SQS and gRPC doors are tested with, into .venv.
# Never fails for one it could not install: it says so, and the tests then skip (or fail when CI=true).
set -eu
cd "$(dirname "$0")/.."
clients=tests/doors/http/sqs

if command -v npm >/dev/null 2>&1; then
    mkdir -p .venv/javascript
    cp "$clients/javascript/package.json" .venv/javascript/
    npm install --prefix .venv/javascript --no-package-lock --no-audit --no-fund --loglevel=error ||
        echo "npm could not install the JavaScript clients of SQS." >&2
    mkdir -p .venv/javascript_grpc
    cp tests/doors/grpc/javascript/package.json .venv/javascript_grpc/
    npm install --prefix .venv/javascript_grpc --no-package-lock --no-audit --no-fund --loglevel=error ||
        echo "npm could not install the JavaScript client of gRPC." >&2
else
    echo "There is no npm: the JavaScript clients of SQS and gRPC are not tested." >&2
fi

.venv/bin/python -m pip install --quiet --target .venv/old_boto3 --upgrade -r "$clients/old_boto3.txt" ||
    echo "pip could not install the old client of SQS." >&2
