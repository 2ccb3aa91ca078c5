BEGIN TRANSACTION;
CREATE TABLE details (key TEXT PRIMARY KEY, left_out TEXT NOT NULL, reasoning TEXT NOT NULL);
CREATE TABLE replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt TEXT NOT NULL, version TEXT NOT NULL, sample INTEGER NOT NULL,
    text TEXT NOT NULL, finish TEXT, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, seconds REAL NOT NULL, created REAL NOT NULL
);
INSERT INTO "replies" VALUES('41e0931e23c707de416258d659bbe3213079411f8a1cc33ddb3d94eebb247571','The model ''openai:test'' at http://127.0.0.1:54321/v1','answer','',0,'1931','stop',4,2,0,0.25,1795957111.0);
INSERT INTO "replies" VALUES('22ab48dc5db088d36d9ba06fdde41cfa2e150bb5b2234128eaa27f5d18024f8e','The model ''openai:test'' at http://127.0.0.1:54321/v1','answer','',0,'1932','stop',4,2,0,0.25,1795957111.0);
INSERT INTO "replies" VALUES('609e7151a350fea6c89c8c20e5d2d670a85933e50b000b117d51f1ad9627ad1a','The model ''openai:test'' at http://127.0.0.1:54321/v1','answer','',1,'1933','stop',4,2,0,0.25,1795957111.0);
INSERT INTO "replies" VALUES('a2a51cfa5bedea2f63e25ceaa29865f44f7549e7d07c63874b33e23f76311080','The model ''openai:test'' at http://127.0.0.1:54321/v1','answer','',0,'{"answer": "1934"}','stop',4,5,0,0.25,1795957111.0);
COMMIT;
